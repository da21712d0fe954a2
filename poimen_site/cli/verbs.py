"""The verbs of ``manage.py poimen``: how one is declared, with the options that all have.

Refuses to know what any of them does.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from typing import Any

from poimen_site.cli.session import Session

Run = Callable[[Session, Mapping[str, Any]], int]


class Verbs:
    """Collects verbs under a parser."""

    def __init__(self, parser: argparse.ArgumentParser, *, dest: str = "verb") -> None:
        self._subparsers = parser.add_subparsers(dest=dest, required=True, metavar="VERB")

    def add(self, name: str, help: str, run: Run) -> argparse.ArgumentParser:
        """Declare a verb and return its parser, for its own options."""
        parser: argparse.ArgumentParser = self._subparsers.add_parser(name, help=help, description=help)
        parser.set_defaults(run=run)
        add_common(parser)
        return parser

    def group(self, name: str, help: str) -> "Verbs":
        """Declare a verb that has verbs of its own."""
        parser: argparse.ArgumentParser = self._subparsers.add_parser(name, help=help, description=help)
        return Verbs(parser, dest=f"{name}_verb")


def name_after_script(parser: argparse.ArgumentParser) -> None:
    """Let help and usage show the script that was called (``bin/poimen``), if it was one, before verbs are declared."""
    parser.prog = os.environ.get("POIMEN_CALLED_AS") or parser.prog


def add_common(parser: argparse.ArgumentParser) -> None:
    """Declare the options that every verb has."""
    common = parser.add_argument_group("who, and how it answers")
    common.add_argument("--customer", metavar="SLUG|ID", help="for whom; left out: the only customer there is")
    common.add_argument("--user", metavar="NAME", help="who acts; left out: the only one who can")
    common.add_argument("--json", action="store_true", dest="is_json", help="answer in JSON")
