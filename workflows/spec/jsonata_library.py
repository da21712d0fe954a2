"""The JSONata library, imported without what it does to the whole process on import."""

import sys

_limit = sys.getrecursionlimit()

from jsonata.jexception import JException  # noqa: E402
from jsonata.jsonata import Jsonata  # noqa: E402
from jsonata.regex_engine import RegexFlags  # noqa: E402
from jsonata.utils import Utils  # noqa: E402

# It raises the recursion limit to 10,000 frames, which turns deep input anywhere in the process into a crash.
sys.setrecursionlimit(_limit)

__all__ = ["JException", "Jsonata", "RegexFlags", "Utils"]
