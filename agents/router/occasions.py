"""What a sentence says of time that no cron text can tell: feasts, spans without a length, beginnings and ends.

Owns the words for it; refuses to leave any of it out without saying so.
"""

import re

from agents.router import clock_words as words
from agents.router.cron_text import Unsayable

# Days that no calendar here knows, and spans of time that no clock measures.
_FEAST = (
    r"(?:leap\s+(?:day|year)s?|new\s+year(?:['’]?s)?(?:\s+(?:eve|day))?|christmas(?:\s+(?:eve|day))?|easter(?:\s+\w+day)?|"
    r"thanksgiving|(?:(?:public|bank|national|school)\s+)?holidays?|(?:full|new)\s+moons?|pay\s?days?|birthdays?|"
    r"anniversar(?:y|ies)|solstices?|equinox(?:es)?|ramadan|hanukkah|diwali)"
)
_SPAN = r"(?:sprints?|shifts?|semesters?|trimesters?|terms?|seasons?|summers?|winters?|springs?|autumns?|iterations?)"
_OCCASION = re.compile(
    rf"\b(?:(?:every|each)\s+(?:(?:of\s+)?(?:the|my|our)\s+)?(?:{_FEAST}|{_SPAN})"
    rf"|(?:on|at|in|during|over|before|after)\s+(?:the\s+|my\s+|our\s+|all\s+)?{_FEAST}|(?:in|during)\s+(?:the\s+)?(?:summer|winter|autumn))\b"
)
# What a schedule has settings of its own for, or nothing at all.
_LIMIT = re.compile(
    rf"\b(?:(?:until|till)\s+(?:(?:the\s+)?end\s+of\s+\w+|{_FEAST}|next\s+\w+|(?:\d{{1,2}}\w*\s+)?{words.MONTH}(?:\s+\d{{1,2}})?"
    rf"|{words.DAY}|\d{{4}}-\d\d-\d\d)|for\s+the\s+next\s+(?:{words.NUMBER})\s+(?:days|weeks|months|years)"
    rf"|(?:starting|beginning|from)\s+(?:on\s+)?(?:tomorrow|next\s+\w+|{words.DAY}|(?:\d{{1,2}}\w*\s+)?{words.MONTH}(?:\s+\d{{1,2}})?"
    rf"|\d{{4}}-\d\d-\d\d)(?:\s+on)?|(?:except|but\s+not|other\s+than)\s+(?:at|in|during|between)\s+\w+)\b"
)


def refuse(text: str) -> None:
    """Raise :class:`Unsayable` if ``text``, in lower case, is about a day or a span that no calendar here knows."""
    if occasion := _OCCASION.search(text):
        raise Unsayable(
            f'No calendar here knows "{occasion.group()}". On which days should it run, and at what time?',
            "every day",
            "every Monday",
            "on the 1st of every month",
        )


def limits(text: str) -> list[str]:
    """Return a sentence for each beginning, end or exception in ``text``, which is in lower case."""
    return [
        f'"{found.group().strip()}" is not part of the schedule: set its start and end, or what it leaves out, when it '
        "is made."
        for found in _LIMIT.finditer(text)
    ]
