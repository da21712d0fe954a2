"""What endpoints take from a request: ids, pages and bodies, checked before anything else happens.

Refuses with 404 what cannot be an id and with 400, naming the field, what does not fit.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.db.models import F, Model, QuerySet
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotAcceptable, NotFound, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from workflows.engine.json_text import dumps
from workflows.errors import PermanentError
from workflows.spec.report import Findings

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")
Answer = TypeVar("Answer", bound=APIException)

# What a 404 names.
EXECUTION, APPROVAL = "Execution", "Approval"
NO_OBJECT = "The body must be a JSON object."
MAX_LIMIT = 100
MAX_PAGE = 100_000
MAX_REASON = 4000
MAX_PRIORITY = 1_000
IDEMPOTENCY_HEADER = "Idempotency-Key"
MAX_KEY_LENGTH = 255


class Conflict(APIException):
    """409: the request is fine, but not for the state in which the object is."""

    status_code = status.HTTP_409_CONFLICT
    default_detail = "this is not possible now"
    default_code = "conflict"


class Unprocessable(APIException):
    """422: the request is well formed, but what it asks to run has errors; ``details`` lists them."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "invalid_workflow"


class Strict(serializers.Serializer[Any]):
    """A serializer that refuses keys it does not know: a misspelt option must not be silently ignored."""

    unknown: ClassVar[str] = "unknown key"

    def to_internal_value(self, data: Any) -> Any:
        """Return the checked values; raises ``ValidationError`` for unknown keys too."""
        if isinstance(data, Mapping):
            unknown = sorted(set(map(str, data)) - set(self.fields))
            if unknown:
                findings = Findings()  # one for all: it bounds how much is compared
                raise serializers.ValidationError({key: [self._refusal(key, findings)] for key in unknown})
        return super().to_internal_value(data)

    def _refusal(self, key: str, findings: Findings) -> str:
        meant = findings.closest(key, self.fields)
        hint = f' (did you mean "{meant}"?)' if meant is not None else ""
        return f"{self.unknown}{hint}; known are: {', '.join(self.fields) or 'none'}"


class Query(Strict):
    """The parameters in an address, none by itself; every GET checks its own, those without any too."""

    unknown = "unknown parameter"


class Text(serializers.CharField):
    """Text in a body. A number is none: what is meant by it cannot be told."""

    def to_internal_value(self, data: Any) -> str:
        """Return ``data``; raises ``ValidationError`` for anything but a string."""
        if not isinstance(data, str):
            raise serializers.ValidationError("expected text")
        return super().to_internal_value(data)


class Limit(serializers.IntegerField):
    """How many items an answer may have: the rule of every list. More than ``most`` counts as ``most``."""

    default_error_messages = {  # noqa: RUF012 - as the base class has it
        "invalid": "expected a whole number of at least 1",
        "min_value": "expected a whole number of at least 1",
        "max_string_length": "expected a whole number of at least 1",
    }

    def __init__(self, *, most: int, default: int) -> None:
        super().__init__(min_value=1, default=default, help_text=f"{most:,} at most")
        self.most = most

    def to_internal_value(self, data: Any) -> int:
        """Return the number, ``most`` at most; raises ``ValidationError``."""
        return min(super().to_internal_value(data), self.most)


class PageNumber(serializers.IntegerField):
    """Which page of a list, from 1."""

    default_error_messages = dict.fromkeys(
        ("invalid", "min_value", "max_value", "max_string_length"), f"expected a whole number from 1 to {MAX_PAGE:,}"
    )

    def __init__(self) -> None:
        super().__init__(min_value=1, max_value=MAX_PAGE, default=1)


class Ordering(serializers.ChoiceField):
    """How a list is ordered: by one of ``columns`` (name in the API -> column), descending with a minus before it.

    Rows without a value come last; the newest row comes first among equals.
    """

    def __init__(self, columns: Mapping[str, str], *, default: str) -> None:
        super().__init__(choices=[sign + name for name in columns for sign in ("", "-")], default=default)
        self.columns = columns

    def applied(self, name: str, rows: QuerySet[Row]) -> QuerySet[Row]:
        """Return ``rows`` in the order called ``name``."""
        column = F(self.columns[name.removeprefix("-")])
        order = column.desc(nulls_last=True) if name.startswith("-") else column.asc(nulls_last=True)
        return rows.order_by(order, "-pk")


class JsonValue(serializers.JSONField):
    """Any JSON that PostgreSQL can store: no NUL characters, no broken Unicode, no infinities."""

    def to_internal_value(self, data: Any) -> Any:
        """Return ``data`` as it is; raises ``ValidationError`` if it cannot be stored."""
        try:
            dumps(data)
        except (PermanentError, RecursionError) as error:
            raise serializers.ValidationError(str(error)) from None
        return data


class JsonObject(JsonValue):
    """A JSON object."""

    def to_internal_value(self, data: Any) -> Any:
        """Return ``data`` as it is; raises ``ValidationError`` for anything but an object."""
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("expected an object")
        return super().to_internal_value(data)


class WholeNumber(serializers.IntegerField):
    """A whole number in a body; text with digits is none."""

    def to_internal_value(self, data: Any) -> int:
        """Return ``data``; raises ``ValidationError`` for anything but a whole number within its bounds."""
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError("expected a whole number")
        return super().to_internal_value(data)


class Reason(Strict):
    """The body of requests that may say why."""

    reason = Text(required=False, allow_blank=True, default="", max_length=MAX_REASON)


class Negotiation(DefaultContentNegotiation):
    """Chooses by ``Accept``, and by ``?format=`` where there is a choice; what there is not is refused by name."""

    def filter_renderers(self, renderers: Iterable[BaseRenderer], format: str) -> list[BaseRenderer]:
        """Return those of that format, or the only one there is, for the endpoint to say that it takes no format.

        Raises ``ValidationError`` (400) for a format that is not among several.
        """
        known = list(renderers)
        found = [renderer for renderer in known if renderer.format == format]
        formats = list(dict.fromkeys(str(renderer.format) for renderer in known))
        if not found and len(formats) > 1:
            raise serializers.ValidationError({"format": [f"expected one of {', '.join(formats)}"]})
        return found or known

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer and the media type to answer in; raises ``NotAcceptable`` (406) naming what there is."""
        known = list(renderers)
        try:
            chosen: tuple[BaseRenderer, str] = super().select_renderer(request, known, format_suffix)
        except NotAcceptable:
            types = ", ".join(dict.fromkeys(str(renderer.media_type) for renderer in known))
            raise NotAcceptable(f"Accept: none of these types can be answered; there are {types}") from None
        return chosen


class Page(Query):
    """``page`` counts from 1; ``limit`` is how many items a page has."""

    page = PageNumber()
    limit = Limit(most=MAX_LIMIT, default=10)


def checked(serializer: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Return ``data`` as ``serializer`` understands it; raises ``ValidationError`` (400) naming every wrong field."""
    if data is not None and not isinstance(data, Mapping):
        raise ParseError(NO_OBJECT)
    form = serializer(data={} if data is None else data)
    form.is_valid(raise_exception=True)
    values: dict[str, Any] = form.validated_data
    return values


def explained(answer: Answer, error: str, details: Any) -> Answer:
    """Return ``answer`` with ``{"error", "details"}`` as its body."""
    # Not through the constructor, which makes text of every number.
    body: Any = {"error": error, "details": details}
    answer.detail = body
    return answer


def idempotency_key(request: Request) -> str | None:
    """Return the header ``Idempotency-Key``, None without one; raises ``ParseError`` (400) for what cannot be a key."""
    key = request.headers.get(IDEMPOTENCY_HEADER)
    return None if key is None else checked_key(key)


def checked_key(key: str) -> str:
    """Return an idempotency key; raises ``ParseError`` (400) for what cannot be one."""
    if not key.strip() or len(key) > MAX_KEY_LENGTH or not key.isprintable():
        raise ParseError(f"{IDEMPOTENCY_HEADER}: expected 1 to {MAX_KEY_LENGTH} printable characters")
    return key


def selected(form: type[serializers.Serializer[Any]], query: Mapping[str, Any], rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return the rows that ``query``, checked by ``form``, asks for, in its order.

    ``form.lookups`` says what each parameter narrows; its field ``ordering`` is an :class:`Ordering`.
    """
    lookups: Mapping[str, str] = form.lookups  # type: ignore[attr-defined]  # every form of a list has them
    rows = rows.filter(**{lookups[name]: value for name, value in query.items() if name in lookups})
    ordering = form().fields["ordering"]
    assert isinstance(ordering, Ordering)
    return ordering.applied(query["ordering"], rows)


def not_found(thing: str) -> NotFound:
    """Return the 404 that says what there is none of, as in ``Execution not found``."""
    return NotFound(f"{thing} not found")


def id_in_path(text: str, thing: str) -> UUID:
    """Return the id; raises 404 (:func:`not_found`) for text that cannot be one, as for an id that does not exist."""
    try:
        return UUID(text)
    except ValueError:
        raise not_found(thing) from None


def paged(page: Mapping[str, Any], rows: QuerySet[Row]) -> tuple[list[Row], Response]:
    """Return the rows of the page that a checked :class:`Page` asks for, and a response with ``X-Total-Count``.

    The caller fills its body.
    """
    total = rows.count()
    start = (page["page"] - 1) * page["limit"]
    return list(rows[start : start + page["limit"]]), Response(headers={"X-Total-Count": str(total)})


def paged_list(page: Mapping[str, Any], items: Sequence[Item]) -> tuple[Sequence[Item], Response]:
    """As :func:`paged`, of a list that is at hand."""
    start = (page["page"] - 1) * page["limit"]
    return items[start : start + page["limit"]], Response(headers={"X-Total-Count": str(len(items))})
