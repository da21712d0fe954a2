"""The JSONata library, imported without what it does to the whole process on import."""

import sys

_limit = sys.getrecursionlimit()

from jsonata.jexception import JException  # type: ignore[import-untyped]
from jsonata.jsonata import Jsonata  # type: ignore[import-untyped]
from jsonata.regex_engine import RegexFlags  # type: ignore[import-untyped]
from jsonata.utils import Utils  # type: ignore[import-untyped]

# It raises the recursion limit to 10,000 frames, which turns deep input anywhere in the process into a crash.
sys.setrecursionlimit(_limit)

__all__ = ["JException", "Jsonata", "RegexFlags", "Utils"]
