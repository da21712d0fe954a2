"""Where an act comes from: the request that is being answered, if any, and who sent it.

Owns the context variable that the web process sets; refuses to guess: outside a request nobody but Poimen acts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from workflows.models import ApiKey
from workflows.models.audit import ActorKind

OWN_NAMES = ("poimen", "system-auto")  # what it calls itself at the first start, and where it approves by setting


@dataclass(frozen=True, slots=True)
class Origin:
    """A request by its id; ``request`` is Django's, whose user is known only once it has been authenticated."""

    request_id: str
    request: Any = None

    @property
    def actor(self) -> str:
        """The name of who signed in; empty for nobody."""
        user = getattr(self.request, "user", None)
        return user.get_username() if user is not None and user.is_authenticated else ""

    @property
    def is_program(self) -> bool:
        """Whether a key was used instead of a person's sign-in."""
        return isinstance(getattr(self.request, "auth", None), ApiKey)

    @property
    def address(self) -> str:
        """The address that connected."""
        return "" if self.request is None else str(self.request.META.get("REMOTE_ADDR", ""))


_NOWHERE = Origin("")
_current: ContextVar[Origin] = ContextVar("poimen_origin", default=_NOWHERE)


def current() -> Origin:
    """Return the origin of what is done now; one without request and id outside requests."""
    return _current.get()


@contextmanager
def bound(origin: Origin) -> Iterator[None]:
    """Let everything inside come from ``origin``."""
    token = _current.set(origin)
    try:
        yield
    finally:
        _current.reset(token)


def kind_of(actor: str) -> ActorKind:
    """Return what ``actor`` is: nobody is Poimen itself, as are its own names; a key only if the request used one."""
    origin = current()
    if not actor or (actor in OWN_NAMES and actor != origin.actor):
        return ActorKind.SYSTEM
    return ActorKind.API_KEY if origin.is_program else ActorKind.USER
