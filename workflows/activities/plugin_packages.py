"""Installed packages that bring activities: each entry point of ``poimen.activities`` is a plugin, known by its name.

Owns the form ``plugin://<slug>[@version]``. Refuses to load code from anywhere but installed packages; whether a plugin
is enabled is not known here but in the database (:mod:`workflows.plugins`). Source: subsystem-plugins 5.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint

SCHEME = "plugin://"
SLUG = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_ADDRESS = re.compile(rf"plugin://(?P<slug>{SLUG.pattern})(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9._+!-]{{0,63}}))?")
FORM = "plugin://name or plugin://name@version; names have lower-case letters, digits, dots, - and _"


@dataclass(frozen=True, slots=True)
class PluginPackage:
    """An entry point that was found; ``error`` says why its activities are not there, if they are not."""

    slug: str
    distribution: str
    version: str
    author: str = ""
    summary: str = ""
    error: str = ""
    activities: Sequence[str] = field(default=())


def parse_address(text: str) -> tuple[str, str | None]:
    """Return slug and version of ``plugin://<slug>[@version]``; raises ``ValueError`` for anything else."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:100]!r} is no plugin; expected {FORM}")
    return found["slug"], found["version"]


def is_address(text: str) -> bool:
    """Whether ``text`` is meant as the address of a plugin, rightly formed or not."""
    return text.startswith(SCHEME)


def described(entry: EntryPoint, *, error: str = "", activities: Sequence[str] = ()) -> PluginPackage:
    """Return what the metadata of an entry point's package says."""
    package = entry.dist
    meta = package.metadata if package is not None else None

    def said(name: str) -> str:
        return (str(meta[name])[:300] if name in meta else "") if meta is not None else ""

    return PluginPackage(
        slug=entry.name,
        distribution=said("Name"),
        version=package.version if package is not None else "",
        author=said("Author") or said("Author-email"),
        summary=said("Summary"),
        error=error[:1000],
        activities=tuple(activities),
    )
