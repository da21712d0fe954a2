"""``/schema`` and ``/docs``: the REST API as an OpenAPI document, and a page to try it that asks no other server.

Refuses anonymous visitors, like everything else.
"""

from typing import Any

from django.contrib.auth.decorators import login_required
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import IsAuthenticated


class SchemaView(SpectacularAPIView):
    """``GET /schema``: OpenAPI 3, as YAML or, with ``?format=json``, as JSON."""

    permission_classes = [IsAuthenticated]  # noqa: RUF012 - as the base class has it
    content_negotiation_class = DefaultContentNegotiation  # 404 for a format that there is not
    throttle_classes = ()


class DocsView(SpectacularSwaggerSplitView):
    """``GET /docs``: the document, with forms to send requests; its script comes from a file of its own."""

    permission_classes = [IsAuthenticated]  # noqa: RUF012
    throttle_classes = ()
    url_name = "schema"


docs: Any = login_required(DocsView.as_view())
