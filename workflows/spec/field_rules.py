"""Rules over the fields of one object of a spec: durations, moments, variable names, shares.

Owns what a shape cannot say about a single object; looks neither at other states nor at references.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from workflows.spec import limits
from workflows.spec.activity_rules import is_dynamic
from workflows.spec.document import child_path
from workflows.spec.durations import EXPECTED, format_duration, parse_duration, parse_moment
from workflows.spec.outline import objects_in
from workflows.spec.report import Findings, shown

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHARE = re.compile(r"\d{1,3}(?:\.\d{1,3})?%")
_NOTHING: Final = timedelta(0)


def check_fields(raw: dict[str, Any], path: str, findings: Findings) -> None:
    """Check the fields of a state, or of a whole spec, that stands at ``path``."""
    kind = raw.get("type")
    longest = limits.MAX_WAIT if kind == "WaitForSignal" else limits.MAX_TIMEOUT
    timeout = _duration(raw, "timeout", path, findings, longest)
    heartbeat = _duration(raw, "heartbeat", path, findings, limits.MAX_TIMEOUT)
    if timeout is not None and heartbeat is not None and heartbeat >= timeout:
        where = child_path(path, "heartbeat")
        findings.add(where, "interval-order", "the timeout passes before the heartbeat can be missed")
    if isinstance(retry := raw.get("retry"), dict):
        _check_retry(retry, child_path(path, "retry"), findings)
    for where, catch in _objects_at(raw, "catch", path):
        if isinstance(name := catch.get("resultPath"), str):
            _check_variables([name], f"{where}.resultPath", findings)
    if isinstance(cache := raw.get("cache"), dict):
        _check_cache(cache, child_path(path, "cache"), findings)
    _check_assign(raw, path, findings)
    for where, rule in _objects_at(raw, "choices", path):
        _check_assign(rule, where, findings)
    if kind == "Wait":
        _check_wait(raw, path, findings)
    elif kind == "Map":
        _check_map(raw, path, findings)


def _objects_at(raw: dict[str, Any], key: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    return objects_in(raw[key], child_path(path, key)) if raw.get(key) else []


def _check_retry(retry: dict[str, Any], path: str, findings: Findings) -> None:
    first = _duration(retry, "initialInterval", path, findings, limits.MAX_TIMEOUT, may_be_zero=True)
    most = _duration(retry, "maxInterval", path, findings, limits.MAX_TIMEOUT)
    if first is not None and most is not None and first > most:
        where = f"{path}.initialInterval"
        findings.add(where, "interval-order", "maxInterval is shorter, so every wait will be that long")


def _check_cache(cache: dict[str, Any], path: str, findings: Findings) -> None:
    _duration(cache, "ttl", path, findings, limits.MAX_CACHE_TTL)
    bypass = cache.get("bypass")
    if isinstance(bypass, str) and not is_dynamic(bypass):
        findings.add(child_path(path, "bypass"), "wrong-type", "bypass is true, false or a reference to one of them")


def _duration(
    raw: dict[str, Any], key: str, path: str, findings: Findings, longest: timedelta, *, may_be_zero: bool = False
) -> timedelta | None:
    """Return the duration at ``key`` if there is a right one; add a problem for a wrong one."""
    text = raw.get(key)
    if not isinstance(text, str):
        return None
    where = child_path(path, key)
    try:
        length = parse_duration(text)
    except ValueError:
        message = f"{shown(text)} is not a duration; {EXPECTED}"
        findings.add(where, "bad-duration", message)
        return None
    if length > longest:
        message = f"{shown(text)} is too long; at most {format_duration(longest)} are allowed"
        findings.add(where, "duration-out-of-range", message)
        return None
    if length == _NOTHING and not may_be_zero:
        findings.add(where, "duration-out-of-range", f"{shown(text)} is no time at all; expected more than 0s")
        return None
    return length


def _check_assign(raw: dict[str, Any], path: str, findings: Findings) -> None:
    assign = raw.get("assign")
    if isinstance(assign, dict):
        _check_variables(assign, child_path(path, "assign"), findings)


def _check_variables(names: Iterable[str], path: str, findings: Findings) -> None:
    for name in names:
        if not _VARIABLE.fullmatch(name) or len(name) > limits.MAX_NAME_LENGTH:
            message = f"{shown(name)} is no variable name; it starts with a letter and has letters, digits, - and _"
            findings.add(path, "bad-variable-name", message)


def _check_wait(raw: dict[str, Any], path: str, findings: Findings) -> None:
    if (raw.get("duration") is None) == (raw.get("until") is None):
        findings.add(path, "exactly-one", "a Wait state has either duration or until")
    if not is_dynamic(raw.get("duration")):
        _duration(raw, "duration", path, findings, limits.MAX_WAIT, may_be_zero=True)
    until = raw.get("until")
    if isinstance(until, str) and not is_dynamic(until):
        try:
            parse_moment(until)
        except ValueError as error:
            findings.add(child_path(path, "until"), "bad-time", f"{shown(until)} {error}")


def _check_map(raw: dict[str, Any], path: str, findings: Findings) -> None:
    items = raw.get("items")
    if "items" in raw and not isinstance(items, list) and not is_dynamic(items):
        message = f"items must be a list, a reference or an expression, not {shown(items)}"
        findings.add(child_path(path, "items"), "wrong-type", message)
    elif isinstance(items, list) and len(items) > limits.MAX_MAP_ITEMS:
        message = f"a Map may have {limits.MAX_MAP_ITEMS:,} items, not {len(items):,}"
        findings.add(child_path(path, "items"), "out-of-range", message)
    tolerated = raw.get("toleratedFailures")
    is_share = isinstance(tolerated, str) and _SHARE.fullmatch(tolerated) and float(tolerated[:-1]) <= 100
    is_count = isinstance(tolerated, int) and not isinstance(tolerated, bool) and tolerated >= 0
    if isinstance(tolerated, str | int) and not isinstance(tolerated, bool) and not is_share and not is_count:
        message = f"{shown(tolerated)} is neither a number of items nor a share like 10%"
        findings.add(child_path(path, "toleratedFailures"), "bad-share", message)
