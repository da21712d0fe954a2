"""How log lines look: JSON for machines or a line for people, marked with the ids of what they are about, and masked.

Code logs through the standard library; structlog renders. It is loaded with the first line that is written: the
processes that activities run in mostly write none. Refuses to let a secret out: masking is the last step before
rendering, for message, fields and traceback alike.
"""

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any

from django.apps import apps

Event = MutableMapping[str, Any]


class LineFormatter(logging.Formatter):
    """Formats with structlog; ``style`` is ``json`` or ``console``."""

    def __init__(self, style: str) -> None:
        super().__init__()
        self._look = style
        self._inner: logging.Formatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break at its end."""
        if self._inner is None:
            self._inner = _formatter(self._look)
        return self._inner.format(record)


def _formatter(style: str) -> logging.Formatter:
    import structlog
    from structlog.stdlib import ProcessorFormatter

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_ids,
    ]
    if style == "json":
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=50)
        rendering: list[Any] = [
            structlog.processors.ExceptionRenderer(tracebacks),
            mask,
            structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
        ]
    else:
        colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        rendering = [
            structlog.processors.format_exc_info,
            mask,
            structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0, sort_keys=False),
        ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return ProcessorFormatter(
        foreign_pre_chain=shared, processors=[ProcessorFormatter.remove_processors_meta, *rendering]
    )


def add_ids(logger: Any, method: str, event: Event) -> Event:
    """Mark a line with the request that is answered, or the execution, branch and node that are driven."""
    if not apps.models_ready:
        return event
    # Here, because logging is configured before the models can be loaded.
    from workflows.audit import current
    from workflows.engine import driving

    if request_id := current().request_id:
        event.setdefault("request_id", request_id)
    for name, value in driving.ids().items():
        event.setdefault(name, value)
    return event


def mask(logger: Any, method: str, event: Event) -> Event:
    """Replace every secret in a line by ``***``."""
    if not apps.models_ready:  # nothing secret is at hand yet
        return event
    from workflows.secret_texts import masked_all

    masked: Event = masked_all(dict(event))
    return masked
