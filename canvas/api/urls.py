"""The paths of what is drawn. No trailing slashes (contract-rest-api 1)."""

from django.urls import path

from canvas.api import compatibility, drafts, drawings, expressions, gateway, relations, starts, workflows

urlpatterns = [
    path("expressions/evaluate", expressions.Evaluation.as_view()),
    path("workflow", gateway.Gateway.as_view()),
    path("workflows", workflows.WorkflowList.as_view()),
    path("workflows/validate", workflows.WorkflowValidation.as_view()),
    path("workflows/compatibility", compatibility.Compatibility.as_view()),
    path("workflows/draw", drawings.SpecDrawing.as_view()),
    path("workflows/<str:workflow_id>", workflows.WorkflowDetail.as_view()),
    path("workflows/<str:workflow_id>/draft", drafts.WorkflowDraft.as_view()),
    path("workflows/<str:workflow_id>/execute", starts.Execute.as_view()),
    path("workflows/<str:workflow_id>/executions", starts.WorkflowExecutions.as_view()),
    path("workflows/<str:workflow_id>/versions", workflows.VersionList.as_view()),
    path("workflows/<str:workflow_id>/versions/<int:version>", workflows.VersionDetail.as_view()),
    path("workflows/<str:workflow_id>/relations/<path:edge_id>/versions", relations.RelationVersions.as_view()),
]
