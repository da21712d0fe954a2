"""The ASGI application that the web process serves: HTTP goes to Django, live logs to their consumer.

It refuses WebSockets of any other address by closing them.
"""

import os
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings")

from django.core.asgi import get_asgi_application
from django.urls import re_path

from poimen_site.bounded_connection import bound_waits
from poimen_site.chunked_body import MeasuredBodies


async def refuse_websocket(scope: object, receive: object, send: object) -> None:
    """Close the handshake."""
    assert callable(receive)
    assert callable(send)
    await receive()
    await send({"type": "websocket.close", "code": 4404})


def _websockets() -> URLRouter:
    from workflows.live.consumer import LogConsumer  # the models must have been loaded

    routes: list[tuple[str, Any]] = [
        (r"^ws/executions/(?P<execution_id>[^/]+)/logs/?$", LogConsumer.as_asgi()),
        ("", refuse_websocket),
    ]
    return URLRouter([re_path(pattern, application) for pattern, application in routes])


_http = MeasuredBodies(get_asgi_application())
bound_waits()
application = ProtocolTypeRouter({"http": _http, "websocket": _websockets()})
