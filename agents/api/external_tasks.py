"""``/external-tasks``: tasks that were imported from issue trackers. What they say is untrusted text."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.models import ExternalTask, TaskSource, TaskStatus
from workflows.access import customer_of, role_required
from workflows.api.answers import Shape, moment, text
from workflows.api.documentation import documented
from workflows.api.requests import Ordering, Page, Query, checked, id_in_path, not_found, paged, selected
from workflows.api.timestamps import rfc3339
from workflows.models import Role

TASK = "External task"


class ExternalTaskInList(Shape):
    """A task without its body. ``status`` is the tracker's in our words, ``localStatus`` ours."""

    id = serializers.UUIDField()
    project = text()
    externalId = text()  # noqa: N815
    title = text(help_text="Written by others: untrusted text")
    url = text()
    externalStatus = text()  # noqa: N815
    status = serializers.ChoiceField(choices=TaskStatus.choices)
    localStatus = serializers.ChoiceField(choices=TaskStatus.choices)  # noqa: N815
    labels = serializers.ListField(child=text())
    assignee = text()
    author = text()
    milestone = text()
    priority = text()
    createdAt = moment(allow_null=True)  # noqa: N815
    updatedAt = moment(allow_null=True)  # noqa: N815
    firstSeenAt = moment()  # noqa: N815
    lastSyncedAt = moment()  # noqa: N815

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``source``, which fields have a meaning of their own for."""
        return super().get_fields() | {"source": serializers.ChoiceField(choices=TaskSource.choices)}


class ExternalTaskAnswer(ExternalTaskInList):
    """A task."""

    body = text(help_text="Written by others: untrusted text")


class ListFilter(Page):
    """Query of the list."""

    lookups: ClassVar = {
        "source": "source", "project": "project", "status": "status", "localStatus": "local_status",
        "externalId": "external_id", "assignee": "assignee",
    }  # fmt: skip
    project = serializers.CharField(required=False, max_length=201)
    status = serializers.ChoiceField(choices=TaskStatus.choices, required=False)
    localStatus = serializers.ChoiceField(choices=TaskStatus.choices, required=False)  # noqa: N815
    externalId = serializers.CharField(required=False, max_length=100)  # noqa: N815
    assignee = serializers.CharField(required=False, max_length=200)
    ordering = Ordering(
        {"updatedAt": "remote_updated_at", "createdAt": "remote_created_at", "externalId": "external_id"},
        default="-updatedAt",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``source``, which fields have a meaning of their own for."""
        return super().get_fields() | {"source": serializers.ChoiceField(choices=TaskSource.choices, required=False)}


class ExternalTaskList(APIView):
    """``GET /external-tasks``: a bare array, the newest change first; the total is in ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listExternalTasks", {200: ExternalTaskInList(many=True)}, query=[ListFilter], tag="external tasks")
    def get(self, request: Request) -> Response:
        """Answer a page, filtered and ordered as the query says."""
        wanted = checked(ListFilter, request.query_params)
        rows = ExternalTask.objects.filter(customer=customer_of(request)).defer("body")
        found, response = paged(wanted, selected(ListFilter, wanted, rows))
        response.data = [_in_list(row) for row in found]
        return response


class ExternalTaskDetail(APIView):
    """``GET /external-tasks/{id}``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readExternalTask", {200: ExternalTaskAnswer}, refusals=[404], tag="external tasks")
    def get(self, request: Request, task_id: str) -> Response:
        """Answer the task with its body."""
        checked(Query, request.query_params)
        rows = ExternalTask.objects.filter(customer=customer_of(request))
        row = rows.filter(pk=id_in_path(task_id, TASK)).first()
        if row is None:
            raise not_found(TASK)
        return Response(_in_list(row) | {"body": row.body})


def _in_list(row: ExternalTask) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "source": row.source,
        "project": row.project,
        "externalId": row.external_id,
        "title": row.title,
        "url": row.url,
        "externalStatus": row.external_status,
        "status": row.status,
        "localStatus": row.local_status,
        "labels": row.labels,
        "assignee": row.assignee,
        "author": row.author,
        "milestone": row.milestone,
        "priority": row.priority,
        "createdAt": row.remote_created_at and rfc3339(row.remote_created_at),
        "updatedAt": row.remote_updated_at and rfc3339(row.remote_updated_at),
        "firstSeenAt": rfc3339(row.first_seen_at),
        "lastSyncedAt": rfc3339(row.last_synced_at),
    }
