"""Every route of the web process, by the app that answers it.

The bare paths belong to the REST API (contract-rest-api 1); there is no trailing slash.
"""

from django.contrib import admin
from django.urls import include, path

from poimen_site import health
from poimen_site.api_docs import SchemaView, docs
from poimen_site.auth import RefreshView, SignInView, admin_login
from poimen_site.observability import scraping
from poimen_site.reasoning.api import SuggestConnections
from poimen_site.routing.api import RouteView

urlpatterns = [
    path("", include("poimen_site.pages.urls")),
    path("admin/login/", admin_login),
    path("admin/", admin.site.urls),
    path("auth/token", SignInView.as_view()),
    path("auth/refresh", RefreshView.as_view()),
    path("route", RouteView.as_view()),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", docs, name="docs"),
    path("workflow/health", health.report),
    path("workflow/metrics", scraping.metrics),
    path("health", health.report),
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("metrics", scraping.metrics),
    path("workflows/suggest-connections", SuggestConnections.as_view()),
    path("", include("agents.api.urls")),
    path("", include("canvas.api.urls")),
    path("", include("workflows.api.urls")),
]

handler400 = "poimen_site.errors.bad_request"
handler403 = "poimen_site.errors.permission_denied"
handler404 = "poimen_site.errors.not_found"
handler500 = "poimen_site.errors.server_error"
