"""``manage.py web``: the web process - pages, REST and the admin - under Daphne."""

import os
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.urls import get_resolver

from poimen_site import web_server
from poimen_site.listening import listen
from workflows.garbage_collection import keep_what_is_loaded


class Command(BaseCommand):
    """Serves until SIGTERM or SIGINT."""

    help = "Serve pages and REST on $HOST:$PORT, or on a listening socket that was inherited."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the inherited socket."""
        parser.add_argument("--fd", type=int, help="file descriptor of a listening socket")
        parser.add_argument("--gate", type=int, help="file descriptor of a pipe; serve once its other end is closed")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Daphne."""
        settings.STATIC_ROOT.mkdir(exist_ok=True)  # empty unless collectstatic was run; the finders serve as well
        import_module("poimen_site.asgi")
        get_resolver().url_patterns  # noqa: B018 - loads the views, before somebody waits for an answer
        keep_what_is_loaded()
        if options["gate"] is not None:
            os.read(options["gate"], 1)
        inherited = options["fd"]
        descriptor = listen(settings.HOST, settings.PORT).detach() if inherited is None else inherited
        web_server.run(
            "--fd",
            str(descriptor),
            "--no-server-name",
            "--application-close-timeout",
            "5",
            "-v",
            "0",
            "poimen_site.asgi:application",
        )
