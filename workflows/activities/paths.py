"""Which files an activity may touch: its execution's own directories, those a rerun reuses, and the repository roots.

Refuses everything else, through symlinks too, and the directories of other executions (contract-activities 16.3).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from workflows.activities.context import ActivityContext
from workflows.errors import PermanentError

# What a home holds of the installation itself is no one's repository, although the home is a root by default.
_INSTALLATION = tuple(
    Path(settings.POIMEN_HOME).resolve() / name for name in ("postgres", "secret-key", "admin-password", "up.lock")
)


@dataclass(frozen=True)
class Territory:
    """Directories, all resolved. ``own`` and ``reused`` win over ``closed``, and ``closed`` over ``shared``."""

    own: tuple[Path, ...]
    shared: tuple[Path, ...]
    closed: tuple[Path, ...]
    reused: tuple[Path, ...] = ()

    @classmethod
    def of(cls, context: ActivityContext) -> "Territory":
        """Return what the running activity may reach: its workspace and artifacts, and ``POIMEN_REPO_ROOTS``."""
        own = (context.workspace.resolve(), context.artifacts.resolve())
        return cls(
            own=own,
            shared=tuple(Path(root).resolve() for root in settings.POIMEN_REPO_ROOTS),
            closed=(*(path.parent for path in own), *_INSTALLATION, Path(settings.POIMEN_ARCHIVES["root"]).resolve()),
            reused=tuple(path.resolve() for path in context.reused_places),
        )

    def holds(self, resolved: Path) -> bool:
        """Say whether a path, already resolved, is the execution's own, or of one whose outputs it reuses."""
        return _within(resolved, (*self.own, *self.reused))

    def admits(self, resolved: Path) -> bool:
        """Say whether a path, already resolved, may be read."""
        if self.holds(resolved):
            return True
        return _within(resolved, self.shared) and not _within(resolved, self.closed)

    def confine(self, path: str | Path, *, field: str = "path", must_exist: bool = True) -> Path:
        """Return ``path`` with every symlink resolved; a relative one is taken from the workspace.

        Without ``must_exist`` only the directory it is in must be there. Raises :class:`PermanentError` naming
        ``field``: "does not exist" for what is missing, and the same with "outside the allowed directories" for all
        that may not be touched, whether it exists or not.
        """
        shown = printable(str(path))
        try:
            resolved = (self.own[0] / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # loops of symlinks, NUL characters, names too long
            raise PermanentError(f"{field}: {shown!r} is not a usable path: {error}") from None
        if not self.admits(resolved):
            raise PermanentError(
                f"{field}: {shown!r} does not exist for this activity: it is outside the allowed directories, which "
                "are the workspace and artifacts of its execution and POIMEN_REPO_ROOTS"
            )
        try:
            found = resolved.exists() or (not must_exist and resolved.parent.exists())
        except OSError as error:  # a name longer than the file system takes
            raise PermanentError(f"{field}: {shown!r} is not a usable path: {error.strerror}") from None
        if not found:
            raise PermanentError(f"{field}: {shown!r} does not exist" + ("" if must_exist else ": no such directory"))
        return resolved


def printable(text: str, limit: int = 200) -> str:
    """Return ``text`` fit for a log line: control characters replaced by ``?``, cut to ``limit`` characters."""
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return clean if len(clean) <= limit else clean[: limit - 3] + "..."


def _within(path: Path, directories: Iterable[Path]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)
