"""``/schema`` and ``/docs``: the REST API as an OpenAPI document, and a page to try it that asks no other server.

Refuses anonymous visitors, like everything else.
"""

from typing import Any

from django.contrib.auth.decorators import login_required
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import IsAuthenticated

from workflows.api.streaming import JsonRefusals


class SchemaView(JsonRefusals, SpectacularAPIView):
    """``GET /schema``: OpenAPI 3, as YAML or, with ``?format=json``, as JSON."""

    permission_classes = [IsAuthenticated]  # noqa: RUF012 - as the base class has it
    throttle_classes = ()


class DocsView(SpectacularSwaggerSplitView):
    """``GET /docs``: the document, with forms to send requests; its script comes from a file of its own."""

    permission_classes = [IsAuthenticated]  # noqa: RUF012
    throttle_classes = ()
    url_name = "schema"


docs: Any = login_required(DocsView.as_view())
