"""App configuration of canvas."""

from django.apps import AppConfig


class CanvasConfig(AppConfig):
    """What people draw."""

    name = "canvas"
