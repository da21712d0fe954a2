"""Finding the source files of a repository: which to look at, in which language, and what to leave alone.

Refuses to follow symlinks or to enter dependencies, build results and other executions' directories.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from workflows.activities.paths import Territory

LANGUAGES = {
    ".go": "go",
    ".py": "python",
    ".js": "javascript",
    ".ts": "typescript",
    ".java": "java",
    ".c": "c",
    ".cpp": "cpp",
    ".h": "c",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
    ".swift": "swift",
}
ALIASES = {
    "golang": "go",
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "c++": "cpp",
    "cc": "cpp",
    "rs": "rust",
}
# Settings and scripts: not code to analyse, but where secrets end up.
CONFIGURATION = frozenset(
    {".cfg", ".conf", ".env", ".ini", ".json", ".properties", ".sh", ".tf", ".toml", ".yaml", ".yml"}
)
SKIPPED_DIRECTORIES = frozenset({"vendor", "node_modules", "var", "venv", "__pycache__"})
MAX_FILE_BYTES = 1024 * 1024
_BINARY_LOOK = 8192


@dataclass(frozen=True)
class CodeFile:
    """A regular file below ``root``; ``name`` is its path from there. ``language`` is None for configuration."""

    root: Path
    name: str
    language: str | None

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.root / self.name

    def read(self) -> str | None:
        """Return its text; None for binary files and those over ``MAX_FILE_BYTES``. Raises ``OSError``."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES or b"\0" in data[:_BINARY_LOOK]:
            return None
        return data.decode("utf-8", errors="replace")


def find(root: Path, territory: Territory, *, configuration: bool = False) -> list[CodeFile]:
    """Return the code files at or below ``root`` (resolved), by name; with ``configuration`` its settings files too."""
    if root.is_file():
        return [CodeFile(root.parent, root.name, LANGUAGES.get(root.suffix.lower()))]
    return sorted(_walk(root, territory, configuration), key=lambda file: file.name)


def _walk(root: Path, territory: Territory, configuration: bool) -> Iterator[CodeFile]:
    for folder, directories, files in os.walk(root, followlinks=False):
        here = Path(folder)
        directories[:] = [name for name in directories if _may_enter(here / name, territory)]
        for name in files:
            suffix = PurePath(name).suffix.lower() or (".env" if name == ".env" else "")
            language = LANGUAGES.get(suffix)
            if language is None and not (configuration and (suffix in CONFIGURATION or name.startswith(".env."))):
                continue
            path = here / name
            if path.is_file() and not path.is_symlink() and name.isprintable():
                yield CodeFile(root, str(path.relative_to(root)), language)


def _may_enter(directory: Path, territory: Territory) -> bool:
    if directory.name.startswith(".") or directory.name in SKIPPED_DIRECTORIES or directory.is_symlink():
        return False
    # The root may lie above the home of the installation: other executions' directories are not part of it.
    return territory.admits(directory) and not (directory / "pyvenv.cfg").exists()


def chosen_language(text: str) -> str:
    """Return the language that ``text`` names; raises ``ValueError`` listing those there are."""
    name = text.strip().lower()
    known: Collection[str] = sorted(set(LANGUAGES.values()))
    language = ALIASES.get(name, name)
    if language not in known:
        raise ValueError(f"{text!r} is none of the languages that can be analysed: {', '.join(known)}")
    return language
