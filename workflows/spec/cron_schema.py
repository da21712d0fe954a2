"""The shape of a CronWorkflowSpec: a WorkflowSpec and when it runs (contract-workflow-spec 1.3).

Owns the keys of the schedule and the way back to the WorkflowSpec inside; the rules are in ``cron_validator``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from workflows.spec.schema import Duration, StateName, WorkflowSpec

OverlapPolicy = Literal["skip", "queue", "cancel-other", "allow"]
OVERLAP_POLICIES: Final[tuple[str, ...]] = get_args(OverlapPolicy)
MAX_RUNS: Final = 1_000_000_000
Moment = Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})]


class CronWorkflowSpec(WorkflowSpec):
    """A workflow and its schedule. ``startAt`` is a moment here; the state to start with is ``startState``."""

    schedule: str = Field(description="Cron text: five fields, @daily and the like, or @every 1h30m")
    timezone: str | None = Field(default=None, description="IANA time zone; UTC if left out")
    cron_timezone: str | None = Field(default=None, description="The same as timezone")
    enabled: bool = Field(default=True, description="false: the schedule is created paused")
    overlap_policy: OverlapPolicy = Field(
        default="skip", description="What happens to a run that is due while the one before still runs"
    )
    catch_up: Any = Field(
        default=False,
        description="How far back runs that were missed are made up for: a duration; true is 24h, false not at all",
        json_schema_extra={"anyOf": [{"type": "boolean"}, {"type": "string"}]},
    )
    jitter: Duration | None = Field(default=None, description="Each run starts up to this much later, evenly spread")
    max_runs: int | None = Field(default=None, ge=1, le=MAX_RUNS, description="The schedule ends after so many")
    start_at: Moment | None = Field(default=None, description="No run before this moment")
    end_at: Moment | None = Field(default=None, description="No run at or after this moment")
    start_state: StateName | None = Field(default=None, description="The state to start with; else the first")

    @property
    def zone(self) -> str:
        """The name of the time zone."""
        return self.timezone or self.cron_timezone or "UTC"


SCHEDULE_KEYS: Final = frozenset(
    {
        "schedule", "timezone", "cronTimezone", "enabled", "overlapPolicy", "catchUp", "jitter", "maxRuns", "startAt",
        "endAt", "startState",
    }
)  # fmt: skip


def is_cron_document(document: object) -> bool:
    """Whether ``document`` means to be a CronWorkflowSpec: a WorkflowSpec has no key ``schedule``."""
    return isinstance(document, Mapping) and "schedule" in document


def flow_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the WorkflowSpec inside the document of a CronWorkflowSpec: what runs each time, without the when."""
    flow = {key: value for key, value in document.items() if key not in SCHEDULE_KEYS}
    return flow if document.get("startState") is None else {**flow, "startAt": document["startState"]}
