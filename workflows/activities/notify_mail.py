"""Notifications by mail, through Django's mail backend: each recipient gets a message of their own.

Refuses to count a message as sent that the server did not take (contract-activities 6).
"""

import contextlib
import smtplib
import socket
from collections.abc import Callable, Sequence
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend

from workflows.activities.notify_delivery import DeliveryFailed, in_time
from workflows.errors import PermanentError


def send(
    notification: UUID, recipients: Sequence[str], subject: str, body: str, arrived: Callable[[str], None]
) -> None:
    """Send to each of ``recipients``, and tell ``arrived`` of every one the server took.

    Another attempt sends the same Message-ID to the same recipient. Raises :class:`PermanentError` without a mail
    server in the settings, and :class:`DeliveryFailed` naming who was refused: retryable if one of them is worth it.
    """
    if not settings.EMAIL_HOST:
        raise PermanentError("EMAIL_URL is not set: there is no mail server to send with", name="NotConfigured")
    connection = get_connection()
    refused: dict[str, DeliveryFailed] = {}
    try:
        _attempt(connection.open, connection)
        for recipient in recipients:
            message = EmailMessage(
                subject,
                body,
                settings.DEFAULT_FROM_EMAIL,
                [recipient],
                connection=connection,
                headers={"Message-ID": f"<{notification}.{recipients.index(recipient)}@poimen>"},
            )
            try:
                _attempt(message.send, connection)
            except DeliveryFailed as error:
                if not isinstance(error.details, dict) or "recipient" not in error.details:
                    raise
                refused[recipient] = error
            else:
                arrived(recipient)
    finally:
        with contextlib.suppress(OSError, smtplib.SMTPException):
            connection.close()
    if refused:
        told = ", ".join(f"{recipient} ({error.message})" for recipient, error in refused.items())
        raise DeliveryFailed(f"not delivered to {told}", retryable=any(error.retryable for error in refused.values()))


def _attempt(call: Callable[[], object], connection: BaseEmailBackend) -> None:
    """Make one exchange in time; raises :class:`DeliveryFailed` with the server's code, and none of its words."""

    def hang_up() -> None:
        client = getattr(connection, "connection", None)
        sock = getattr(client, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def exchange() -> None:
        call()

    try:
        in_time(exchange, "the mail server", abandon=hang_up)
    except smtplib.SMTPRecipientsRefused as error:
        code = next((answer[0] for answer in error.recipients.values()), 500)
        raise DeliveryFailed(
            f"the mail server answered {code}", retryable=code < 500, details={"recipient": code}
        ) from None
    except smtplib.SMTPAuthenticationError as error:
        raise DeliveryFailed(
            f"the mail server refuses the user of EMAIL_URL ({error.smtp_code})", retryable=False
        ) from None
    except smtplib.SMTPResponseException as error:
        raise DeliveryFailed(
            f"the mail server answered {error.smtp_code}", retryable=not 500 <= error.smtp_code < 600
        ) from None
    except smtplib.SMTPNotSupportedError:
        raise DeliveryFailed("the mail server cannot do what EMAIL_URL asks for", retryable=False) from None
    except (smtplib.SMTPException, OSError) as error:
        raise DeliveryFailed(f"the mail server cannot be used: {str(error) or type(error).__name__}") from None
