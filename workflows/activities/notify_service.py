"""Notifications by any of the services that apprise knows and that are listed here.

Refuses services that read local files or run programs, parameters that would make others do so, and hosts that
activities must not reach (contract-activities 6, 16.2).
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from workflows.activities import socket_guard
from workflows.activities.notify_delivery import DELIVERY_SECONDS, DeliveryFailed, in_time
from workflows.activities.paths import printable
from workflows.errors import InvalidInput
from workflows.service_addresses import SCHEMES

# Parameters that name local files, weaken TLS, change how long it takes or follow where nobody looked.
_REFUSED: Final = frozenset(
    {
        "template", "attach", "attach-as", "pgp", "pgppub", "pgpprv", "wkd", "verify", "redirect", "retry",
        "wait", "rto", "cto", "store", "discovery", "autoverify", "e2ee", "optional",
    }
)  # fmt: skip
_CODE: Final = re.compile(r"\berror=(\d{3})\b")
_TYPES: Final[Mapping[str, str]] = {"success": "success", "failure": "failure", "warning": "warning", "info": "info"}


def known(url: str) -> tuple[str, list[str]]:
    """Return the scheme of a service's address, and the service's name; raises :class:`InvalidInput` naming channel.

    Of the address nothing but the scheme is ever shown: apprise puts tokens into all its parts.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in SCHEMES:
        raise InvalidInput(
            f"channel: {printable(scheme, 40)!r} is no service that can be used; those are {', '.join(sorted(SCHEMES))}"
        )
    return scheme, [str(_plugin(url).service_name)]


def send(url: str, title: str, body: str, status: str) -> None:
    """Send by the service at ``url``; raises :class:`DeliveryFailed`, with the status it answered if it did."""
    import apprise

    plugin = _plugin(url)
    plugin.socket_connect_timeout = plugin.socket_read_timeout = DELIVERY_SECONDS
    plugin.redirects = False
    said: list[str] = []
    results: list[bool] = []
    name = str(plugin.service_name)

    def notify() -> None:
        with apprise.LogCapture(level=30, fmt="%(message)s") as captured:
            results.append(bool(plugin.notify(body=body, title=title, notify_type=apprise.NotifyType(_TYPES[status]))))
            said.append(captured.getvalue())

    with socket_guard.guarded() as guard:
        try:
            in_time(notify, name)
        except DeliveryFailed:
            raise
        except Exception as error:  # noqa: BLE001 - plug-ins raise what they like
            if guard.refused is None:
                raise DeliveryFailed(f"{name} failed with {type(error).__name__}") from None
    if guard.refused is not None:
        raise DeliveryFailed(guard.refused.message, name=guard.refused.name, retryable=False)
    if results == [True]:
        return
    codes = [int(code) for code in _CODE.findall("".join(said))]
    if not codes:
        raise DeliveryFailed(f"{name} could not be reached, or refused the notification")
    is_final = 400 <= codes[-1] < 500 and codes[-1] not in (408, 425, 429)
    raise DeliveryFailed(f"{name} answered {codes[-1]}", retryable=not is_final)


def _plugin(url: str) -> Any:
    import apprise

    try:
        query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        raise InvalidInput("channel: this is no address of a service") from None
    asset = apprise.AppriseAsset(
        app_id="Poimen", app_desc="Poimen", app_url="", async_mode=False, secure_logging=True,
        storage_mode=apprise.PersistentStoreMode.MEMORY, plugin_paths=[], http_redirects=False,
    )  # fmt: skip
    plugin = apprise.Apprise.instantiate(url, asset=asset, suppress_exceptions=True) if url.isprintable() else None
    if plugin is None:
        raise InvalidInput("channel: this is no complete address of that service; see apprise's documentation of it")
    accepted = set(plugin.template_args) - _REFUSED
    for name, _ in query:
        if name.lower() not in accepted and not name.startswith(("+", "-", ":")):
            raise InvalidInput(
                f"channel: the parameter {printable(name, 40)!r} is not taken; this service takes "
                f"{', '.join(sorted(accepted))}"
            )
    return plugin
