"""The ASGI application that the web process serves: HTTP goes to Django.

It refuses WebSockets by closing them, since no route takes any.
"""

import os

from channels.routing import ProtocolTypeRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings")

from django.core.asgi import get_asgi_application

from poimen_site.bounded_connection import bound_waits


async def refuse_websocket(scope: object, receive: object, send: object) -> None:
    """Close the handshake."""
    assert callable(receive)
    assert callable(send)
    await receive()
    await send({"type": "websocket.close", "code": 4404})


_http = get_asgi_application()
bound_waits()
application = ProtocolTypeRouter({"http": _http, "websocket": refuse_websocket})
