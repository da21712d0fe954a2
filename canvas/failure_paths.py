"""What a spec catches, as a canvas says it: ways that are taken on errors, and where the error itself is read.

A spec keeps the error in a variable of its branch; behind an edge it is the error of the step that failed. Leaves what
cannot be said so as it is: ``unread`` tells.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from canvas.names import quoted, reference_as_jsonata

_MARK = re.compile(r"\$\{([^{}]*)\}")
_FIELDS = ("name", "message", "state")


class FailurePaths:
    """The variables in which the states of a spec keep what they caught."""

    def __init__(self, states: Mapping[str, Mapping[str, Any]]) -> None:
        self._sources: dict[str, list[str]] = {}
        for name, state in states.items():
            for path in {rule["resultPath"] for rule in state.get("catch", ()) if rule.get("resultPath")}:
                self._sources.setdefault(path, []).append(name)

    def told(self, value: Any) -> Any:
        """Return JSON ``value`` with references to those variables as references to the errors of the steps."""
        if isinstance(value, str):
            return self._told(value) if self._reads(value) else value
        if isinstance(value, Mapping):
            return {key: self.told(part) for key, part in value.items()}
        return [self.told(part) for part in value] if isinstance(value, list) else value

    def unread(self, value: Any) -> bool:
        """Whether ``value`` reads such a variable still."""
        if isinstance(value, str):
            return any(re.search(rf"\bvars\.{re.escape(path)}\b", value) for path in self._sources)
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        return any(map(self.unread, parts))

    def _reads(self, text: str) -> bool:
        return any(self._found(body) for body in _MARK.findall(text))

    def _found(self, body: str) -> tuple[list[str], str] | None:
        """The steps whose errors ``body`` may mean, and what of the error."""
        match body.strip().split("."):
            case ["vars", path, part] if path in self._sources and part in _FIELDS:
                return self._sources[path], part
        return None

    def _told(self, text: str) -> str:
        plain = _MARK.sub(self._in_place, text)
        if not self.unread(plain):
            return plain
        terms, end = [], 0
        for mark in _MARK.finditer(text):
            terms += [json.dumps(text[end : mark.start()], ensure_ascii=False)] if mark.start() > end else []
            try:
                terms.append(self._term(mark[1]))
            except ValueError:
                return text
            end = mark.end()
        terms += [json.dumps(text[end:], ensure_ascii=False)] if end < len(text) else []
        return "{% " + " & ".join(terms) + " %}"

    def _in_place(self, mark: "re.Match[str]") -> str:
        found = self._found(mark[1])
        if found is None or len(found[0]) != 1:
            return mark[0]
        (source,), part = found
        return source if part == "state" else f"${{{source}.error.{part}}}"

    def _term(self, body: str) -> str:
        """JSONata for one reference; of several steps, the one that failed. Raises ``ValueError``."""
        found = self._found(body)
        if found is None:
            return reference_as_jsonata(body)
        sources, part = found
        if part == "state":
            errors = [f"$exists({quoted(source)}.error) ? {json.dumps(source)}" for source in sources]
        else:
            errors = [f"{quoted(source)}.error.{part}" for source in sources]
        return f"[{', '.join(errors)}][0]"
