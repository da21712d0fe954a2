"""Every address of Poimen: REST at the bare paths, the admin, sign-in and health."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView
from rest_framework_simplejwt.views import TokenRefreshView

from poimen_site import auth, health

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(url="/admin/", permanent=False), name="home"),
    path("", include("canvas.api.urls")),
    path("", include("workflows.api.urls")),
    path("auth/token", auth.SignInView.as_view()),
    path("auth/refresh", TokenRefreshView.as_view()),
    path("health", health.report),
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("admin/", admin.site.urls),
]
