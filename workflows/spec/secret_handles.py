"""Where a ``secret:<id>`` handle may stand in an activity's input, as each input field declares in its JSON Schema.

Owns the form of handles and the rule of places. Knows no secrets: it never looks one up.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast

# value: revealed anywhere in the field; url: revealed in the user information and the query of an address, never in
# its host or path; handle: left as it is, for fields that people are shown. A field that says nothing takes none.
SecretUse = Literal["value", "url", "handle"]

USE_KEY: Final = "x-secrets"
PREFIX: Final = "secret:"
# Stands for a secret in the open where a document is only judged: it is nobody's, and people have not written it.
NOWHERE: Final = f"{PREFIX}00000000-0000-0000-0000-000000000000"
HANDLE: Final = re.compile(r"secret:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")

_WORDS: Final[dict[SecretUse, str]] = {"value": "{}", "url": "the user information and the query of {}"}


def uses_in(schema: Mapping[str, Any]) -> dict[str, SecretUse]:
    """Return what the fields of an input schema declare about secrets, by name; fields that take none are left out."""
    properties = schema.get("properties", {})
    return {name: cast("SecretUse", field[USE_KEY]) for name, field in properties.items() if USE_KEY in field}


def misplaced(value: Any, use: SecretUse | None, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield ``(path, handle, its text)`` for every handle in ``value`` that a field of that ``use`` does not take.

    ``path`` names the value itself, as in ``headers`` or ``parameters.body``.
    """
    if use in ("value", "handle"):
        return
    pending: list[tuple[Any, str]] = [(value, path)]
    while pending:
        node, where = pending.pop()
        if isinstance(node, str):
            if PREFIX in node:
                places = _places_in_url(node) if use == "url" and node is value else ()
                for match in HANDLE.finditer(node):
                    if not any(match.start() in place for place in places):
                        yield where, match[0], node
        elif isinstance(node, dict):
            pending.extend((item, f"{where}.{key}") for key, item in reversed(node.items()))
        elif isinstance(node, list):
            pending.extend((node[index], f"{where}[{index}]") for index in reversed(range(len(node))))


def refusal(activity: str, handle: str, uses: Mapping[str, SecretUse], text: str = "") -> str:
    """Return the sentence about a handle that stands in the wrong place, with the places where it could stand.

    ``text`` is what holds it. For a secret in the open, which :data:`NOWHERE` stands for, it says which one.
    """
    places = [_WORDS[use].format(name) for name, use in uses.items() if use in _WORDS]
    allowed = f"takes secrets only in {', '.join(places)}" if places else "takes no secrets"
    if handle != NOWHERE:
        return f"{handle} cannot be used here: {activity} {allowed}"
    if re.search(rf"://[^\s/?#@]*{handle}[^\s/?#]*@", text):
        what = "an address here holds a password or token in the open, before its @"
    elif service := re.match(rf"\s*(\w{{1,40}}://){handle}", text):
        what = f"the address of a service ({service[1]}...) stands here in the open, and its parts are secrets"
    else:
        what = "a secret stands here in the open"
    return f"{what}: {activity} {allowed}. Leave it out, or keep it as a secret and use its handle where one is taken"


def _places_in_url(url: str) -> tuple[range, ...]:
    """The user information and the query of an address, as positions in its text."""
    scheme, mark, _ = url.partition("://")
    if not mark:
        return ()
    begin = len(scheme) + len(mark)
    end = next((i for i in range(begin, len(url)) if url[i] in "/?#\\"), len(url))
    user = range(begin, max(begin, url.rfind("@", begin, end)))
    fragment = url.find("#", end)
    last = len(url) if fragment < 0 else fragment
    question = url.find("?", end, last)
    return (user,) if question < 0 else (user, range(question, last))
