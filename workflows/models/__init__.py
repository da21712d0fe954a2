"""The rows behind everything that runs; one file per noun. The database is the truth, messages are hints."""

from workflows.models.api_key import ApiKey, Scope
from workflows.models.approval import ApprovalGate, ApprovalVote
from workflows.models.audit import ActorKind, AuditHead, AuditRecord
from workflows.models.branch import Branch, BranchStatus, Waiting
from workflows.models.cached_result import CachedResult, CacheStatus
from workflows.models.execution import Execution, ExecutionStatus, SpecDocument
from workflows.models.log_entry import LogEntry
from workflows.models.metric_tally import MetricTally
from workflows.models.notification import NotificationRecord, NotificationStatus
from workflows.models.plugin import Plugin
from workflows.models.process import Process, ProcessKind
from workflows.models.remembered_request import RememberedRequest
from workflows.models.request_count import RequestCount
from workflows.models.schedule import Overlap, RunOutcome, RunTrigger, Schedule, ScheduleRun
from workflows.models.secret import Secret
from workflows.models.signal import Signal
from workflows.models.state_run import RunStatus, StateRun
from workflows.models.tenancy import Customer, Membership, Role
from workflows.models.workflow import Workflow, WorkflowStatus, WorkflowVersion

__all__ = [
    "ActorKind",
    "ApiKey",
    "ApprovalGate",
    "ApprovalVote",
    "AuditHead",
    "AuditRecord",
    "Branch",
    "BranchStatus",
    "CacheStatus",
    "CachedResult",
    "Customer",
    "Execution",
    "ExecutionStatus",
    "LogEntry",
    "Membership",
    "MetricTally",
    "NotificationRecord",
    "NotificationStatus",
    "Overlap",
    "Plugin",
    "Process",
    "ProcessKind",
    "RememberedRequest",
    "RequestCount",
    "Role",
    "RunOutcome",
    "RunStatus",
    "RunTrigger",
    "Schedule",
    "ScheduleRun",
    "Scope",
    "Secret",
    "Signal",
    "SpecDocument",
    "StateRun",
    "Waiting",
    "Workflow",
    "WorkflowStatus",
    "WorkflowVersion",
]
