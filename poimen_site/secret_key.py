"""The key that signs sessions and tokens and encrypts secrets: from the environment, else one file in the home."""

import os
import secrets
from pathlib import Path

from poimen_site.environment import SettingError

FILE_NAME = "secret-key"
LEAST_LENGTH, LEAST_DIFFERENT = 50, 5  # characters; what Django's check security.W009 asks for


def check_strength(setting: str, key: str) -> None:
    """Raise ``SettingError`` for a key that could be guessed; it does not repeat the key."""
    if len(key) < LEAST_LENGTH or len(set(key)) < LEAST_DIFFERENT:
        raise SettingError(
            f"ENVIRONMENT=production refuses this {setting}: it has {len(key)} characters, {len(set(key))} of them "
            f"different; expected a random text of at least {LEAST_LENGTH}. "
            'Make one with: python -c "import secrets; print(secrets.token_urlsafe(64))"'
        )


def load_or_create_secret_key(home: Path) -> str:
    """Return the key kept in ``home/secret-key`` (mode 0600), making it on the first call.

    Creation is atomic: of two processes that start together one wins and both read the same key. Raises
    ``SettingError`` when the file is of no use.
    """
    path = home / FILE_NAME
    try:
        key = _load_or_create(home, path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} cannot be read or made ({error}); expected one long random text.") from error
    if not key:
        raise SettingError(f"{path} is empty; expected one long random text. Delete the file to get a new key.")
    return key


def _load_or_create(home: Path, path: Path) -> str:
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o755)
        draft = home / f".secret-key-{os.getpid()}"
        draft.write_text(secrets.token_urlsafe(64))
        draft.chmod(0o600)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process made it first; its key is the one that counts
        finally:
            draft.unlink()
    return path.read_text().strip()
