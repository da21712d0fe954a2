"""The base of every activity's input and output: camelCase keys in JSON, snake_case names in Python.

Keys that an input does not know are ignored: a workflow may pass more than one activity reads (workflow-spec 8.3).
"""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from workflows.spec.activity_rules import MOST_KEY
from workflows.spec.secret_handles import USE_KEY

# For ``Field(json_schema_extra=...)``: what a field does with ``secret:<id>`` handles. Without one it takes none.
TAKES_SECRETS: Final[dict[str, Any]] = {USE_KEY: "value"}
TAKES_SECRETS_IN_URL: Final[dict[str, Any]] = {USE_KEY: "url"}
KEEPS_HANDLES: Final[dict[str, Any]] = {USE_KEY: "handle"}


def counts_at_most(number: float) -> dict[str, Any]:
    """Return what a field's ``json_schema_extra`` says where larger numbers count as ``number``; it is not enforced."""
    return {MOST_KEY: number}


def told(error: ValidationError, whole: str) -> str:
    """Return what is wrong with each field, ``name: sentence; name: sentence``; ``whole`` stands for the object itself.

    A check of our own is quoted as it stands, without the words pydantic puts before it.
    """
    return "; ".join(f"{'.'.join(map(str, detail['loc'])) or whole}: {_sentence(detail)}" for detail in error.errors())


def _sentence(detail: ErrorDetails) -> str:
    own = detail.get("ctx", {}).get("error")
    return str(own) if isinstance(own, Exception) else detail["msg"]


class Fields(BaseModel):
    """An object of named fields; ``required_approvals`` is ``requiredApprovals`` in JSON, either is taken."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
