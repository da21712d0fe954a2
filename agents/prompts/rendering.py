"""Which text of a prompt counts, and rendering it: the newest edited version, else the built-in file.

Every edit is a version of its own, with author and date; going back makes another one. Source: subsystem-templates.
"""

import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Max

from agents.models import PromptVersion
from agents.prompts import sandbox
from agents.prompts.samples import SAMPLES
from agents.prompts.sandbox import PromptError

TEMPLATES = Path(__file__).parent / "templates"
_LOCK: Final = 0x4C4C_5000 << 32  # advisory locks of ours, by name


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as it is sent. ``version`` is the id of the edited version; None for the built-in text, number 0."""

    text: str
    name: str
    version: str | None
    number: int


@cache
def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in prompts: their paths, such as ``router/system.j2``."""
    return tuple(sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.j2")))


@cache
def builtin(name: str) -> str:
    """Return the text of a built-in prompt; raises :class:`PromptError` if there is none of that name."""
    if name not in builtin_names():
        raise PromptError(f"there is no prompt called {name[:128]!r}; there are {', '.join(builtin_names()) or 'none'}")
    return (TEMPLATES / name).read_text(encoding="utf-8")


def current(name: str) -> PromptVersion | None:
    """Return the edited version in use; None where the built-in text is."""
    return PromptVersion.objects.filter(name=name).order_by("-number").first()


def render(name: str, /, **values: Any) -> Rendered:
    """Return the prompt with ``values`` in it (one query). Raises :class:`PromptError` naming prompt and version.

    Values are data: what a repository, a person or a memory says in them is not read as a template.
    """
    given = builtin(name)
    version = current(name)
    source = version.source if version is not None else given
    try:
        text = sandbox.render(source, values)
    except PromptError as error:
        which = f"{name}, version {version.number}" if version is not None else f"{name}, as built in"
        raise PromptError(f"{which}: {error.message}") from None
    return Rendered(
        text=text,
        name=name,
        version=str(version.pk) if version is not None else None,
        number=version.number if version is not None else 0,
    )


def check(name: str, source: str) -> None:
    """Raise :class:`PromptError` if ``source`` could not be the text of the prompt: it is rendered with samples."""
    builtin(name)
    sandbox.check(source)
    for values in SAMPLES[name]:
        sandbox.render(source, dict(values))


def edit(name: str, source: str, *, author: User | None, note: str = "") -> PromptVersion:
    """Make ``source`` the text in use; raises :class:`PromptError` for one that :func:`check` refuses, unwritten."""
    check(name, source)
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Two who save at once get two numbers: the second waits for the lock, which goes with the transaction.
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK | zlib.crc32(name.encode()),))
        number = (PromptVersion.objects.filter(name=name).aggregate(most=Max("number"))["most"] or 0) + 1
        return PromptVersion.objects.create(name=name, number=number, source=source, author=author, note=note[:200])


def go_back(version: PromptVersion, *, author: User | None) -> PromptVersion:
    """Make the text of an earlier version the one in use, as a new version."""
    return edit(version.name, version.source, author=author, note=f"as version {version.number}")


def use_builtin(name: str, *, author: User | None) -> PromptVersion:
    """Make the built-in text the one in use, as a new version."""
    return edit(name, builtin(name), author=author, note="as built in")
