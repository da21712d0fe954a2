"""Wiring: settings, URLs, ASGI, authentication, health and supervision. No domain logic lives here."""
