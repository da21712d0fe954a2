"""How the canvas's own exceptions are answered: code, sentence and details (contract-rest-api 1, 2).

Owns that mapping and nothing else.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rest_framework.exceptions import ParseError

from canvas.api.bodies import WORKFLOW
from canvas.changes import NAME_REQUIRED, InvalidField
from canvas.drafts import DraftConflict
from canvas.saving import NotValid, VersionConflict, WorkflowNotFound
from workflows.api.requests import Conflict, Unprocessable, explained, not_found
from workflows.api.timestamps import rfc3339
from workflows.errors import LimitExceeded
from workflows.submission import IdempotencyConflict


class FieldRefused(ParseError):
    """400: one field cannot be taken; ``details`` is ``{field: sentence}``."""


def refused_field(field: str, message: str) -> FieldRefused:
    """Return the 400 for one field."""
    # The sentence for a missing name is fixed; every other one names its field.
    error = message if message == NAME_REQUIRED else f"{field}: {message}"
    return explained(FieldRefused(), error, {field: message})


@contextmanager
def answered() -> Iterator[None]:
    """Turn what services raise into the errors of the API."""
    try:
        yield
    except WorkflowNotFound:
        raise not_found(WORKFLOW) from None
    except InvalidField as refused:
        raise refused_field(refused.field, str(refused)) from None
    except NotValid as refused:
        raise explained(Unprocessable(), f"{refused}.", refused.report["errors"]) from None
    except VersionConflict as conflict:
        raise explained(Conflict(), f"{conflict}.", {"version": conflict.current}) from None
    except DraftConflict as conflict:
        now: dict[str, str | None] = {"revision": None, "updatedAt": None}
        if conflict.revision is not None and conflict.updated_at is not None:
            now = {"revision": str(conflict.revision), "updatedAt": rfc3339(conflict.updated_at)}
        raise explained(Conflict(), f"{conflict}.", now) from None
    except IdempotencyConflict as conflict:
        raise Conflict(f"{conflict}.") from None
    except LimitExceeded as refused:
        raise refused_field("inputs", refused.message) from None
