"""The paths of what runs. No trailing slashes (contract-rest-api 1)."""

from django.urls import path

from workflows.api import (
    activities,
    api_keys,
    approvals,
    artifacts,
    audit,
    execution_views,
    logs,
    schedules,
    specs,
    states,
)

urlpatterns = [
    path("executions", execution_views.ExecutionList.as_view()),
    path("executions/<str:execution_id>", execution_views.ExecutionDetail.as_view()),
    path("executions/<str:execution_id>/cancel", execution_views.CancelExecution.as_view()),
    path("executions/<str:execution_id>/pause", execution_views.PauseExecution.as_view()),
    path("executions/<str:execution_id>/resume", execution_views.ResumeExecution.as_view()),
    path("executions/<str:execution_id>/signal", execution_views.SignalExecution.as_view()),
    path("executions/<str:execution_id>/rerun", execution_views.RerunExecution.as_view()),
    path("executions/<str:execution_id>/states", states.ExecutionStates.as_view()),
    path("executions/<str:execution_id>/logs", logs.ExecutionLogs.as_view()),
    path("executions/<str:execution_id>/artifacts", artifacts.ArtifactList.as_view()),
    path("executions/<str:execution_id>/artifacts/<path:name>", artifacts.ArtifactContent.as_view()),
    path("api-keys", api_keys.ApiKeyList.as_view()),
    path("api-keys/<str:key_id>", api_keys.ApiKeyDetail.as_view()),
    path("activities", activities.ActivityList.as_view()),
    path("audit", audit.AuditTrail.as_view()),
    path("approvals", approvals.ApprovalList.as_view()),
    path("approvals/stats", approvals.ApprovalStatistics.as_view()),
    path("approvals/<str:gate_id>", approvals.ApprovalDetail.as_view()),
    path("approvals/<str:gate_id>/approve", approvals.Approve.as_view()),
    path("approvals/<str:gate_id>/reject", approvals.Reject.as_view()),
    path("schedules", schedules.ScheduleList.as_view()),
    path("schedules/preview", schedules.SchedulePreview.as_view()),
    path("schedules/<str:schedule_id>", schedules.ScheduleDetail.as_view()),
    path("schedules/<str:schedule_id>/pause", schedules.PauseSchedule.as_view()),
    path("schedules/<str:schedule_id>/resume", schedules.ResumeSchedule.as_view()),
    path("schedules/<str:schedule_id>/trigger", schedules.TriggerSchedule.as_view()),
    path("schedules/<str:schedule_id>/backfill", schedules.BackfillSchedule.as_view()),
    path("schedules/<str:schedule_id>/executions", schedules.ScheduleExecutions.as_view()),
    path("specs/validate", specs.SpecValidation.as_view()),
    path("specs/execute", specs.SpecExecution.as_view()),
]
