"""EchoActivity: gives back what it got. For trying things and for measuring the engine."""

from typing import Any

from pydantic import BaseModel, Field

from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES


class EchoInput(BaseModel):
    """Anything."""

    value: Any = Field(default=None, description="Anything", json_schema_extra=KEEPS_HANDLES)


class EchoOutput(BaseModel):
    """The same thing."""

    value: Any = Field(description="The input value")


@activity("EchoActivity", category="testing", timeout="30s", isolation="inline")
def echo(input: EchoInput, context: ActivityContext) -> EchoOutput:
    """Returns its input value unchanged."""
    return EchoOutput(value=input.value)
