"""The paths of the pages: home, and everything else under ``/ui/`` since the bare paths belong to REST."""

from urllib.parse import quote

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path

from poimen_site.pages import comparison, exchanges, executions, home, route, schedules, signing, workflows
from poimen_site.pages.visitor import Visitor, page


@page
def nothing_here(request: HttpRequest, visitor: Visitor, rest: str = "") -> HttpResponseBase:
    """Any other address below ``/ui/``; one that ends in a slash leads to the same without it."""
    if not rest.strip("/"):
        return redirect("home", permanent=True)
    if rest.endswith("/"):
        query = request.META.get("QUERY_STRING", "")
        return redirect(f"/ui/{quote(rest.strip('/'))}{f'?{query}' if query else ''}", permanent=True)
    raise Http404("There is no such page")


urlpatterns = [
    path("", home.home, name="home"),
    path("ui/sign-in", signing.sign_in, name="sign-in"),
    path("ui/sign-out", signing.sign_out, name="sign-out"),
    path("ui/customer", signing.switch_customer, name="switch-customer"),
    path("ui/workflows", workflows.workflow_list, name="workflows"),
    path("ui/workflows/<str:workflow_id>", workflows.workflow_page, name="workflow"),
    path("ui/workflows/<str:workflow_id>/edit", workflows.canvas_page, name="canvas"),
    path("ui/executions", executions.execution_list, name="executions"),
    path("ui/executions/<str:execution_id>", executions.execution_page, name="execution"),
    path("ui/executions/<str:execution_id>/runs/<int:run_id>", executions.run_details, name="run-details"),
    path("ui/executions/<str:execution_id>/compare", comparison.compare_page, name="compare"),
    path("ui/executions/<str:execution_id>/attempts", executions.attempts, name="attempts"),
    path("ui/executions/<str:execution_id>/places", executions.places, name="places"),
    path("ui/exchanges/<str:exchange_id>", exchanges.exchange_page, name="exchange"),
    path("ui/executions/<str:execution_id>/log.txt", executions.log_file, name="log-file"),
    path("ui/executions/<str:execution_id>/artifacts/<path:name>", executions.artifact, name="artifact"),
    path("ui/route", route.route_page, name="route"),
    path("ui/schedules", schedules.schedule_list, name="schedules"),
    path("ui/schedules/new", schedules.new_schedule, name="new-schedule"),
    path("ui/schedules/<str:schedule_id>", schedules.schedule_page, name="schedule"),
    path("ui/schedules/<str:schedule_id>/edit", schedules.edit_schedule, name="edit-schedule"),
    path("ui", nothing_here),
    path("ui/", nothing_here),
    path("ui/<path:rest>", nothing_here),
]
