"""``manage.py clock``: timers, lost leases, deadlines, retention. Run as many as you like; one leads."""

import signal
from typing import Any

from django.core.management.base import BaseCommand

from workflows.engine.clock import Clock


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT."""

    help = "Wake what is due and take back what dead workers held."
    requires_system_checks = ()  # the pages' and the API's checks are the web process's business

    def handle(self, *args: Any, **options: Any) -> None:
        """Tick until told to stop."""
        clock = Clock()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: clock.stop())
        clock.run()
