"""Values that must not be shown: sealed under ``secret:<id>`` handles, revealed for the activity that needs them.

Refuses handles of other customers, expired ones and ones encrypted with a key it does not have; never puts a value
into an error, a log line or a repr. Source: contract-workflow-spec 6, contract-activities 16.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from workflows import address_passwords
from workflows.address_passwords import MASK
from workflows.errors import PermanentError
from workflows.models import Customer, Secret
from workflows.spec.secret_handles import HANDLE, NOWHERE, PREFIX, misplaced, refusal

if TYPE_CHECKING:
    from workflows.activities.registry import Activity

Owner = Customer | UUID | str

SHORTEST = 6  # characters of a secret that is looked for in texts
_CONTAINERS = (dict, list)
# What a password in an address is called, whatever holds the address.
IN_ADDRESS = "password"

# What stands for a secret that comes later, perhaps behind the name of a scheme: "Bearer ${workflow.input.token}".
_REFERENCE = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9-]{0,15}\s+)?(?:(?:\$\{[^{}]*\}[\s:._-]*)+|\{%.*%\}\s*)", re.DOTALL)
_SEPARATORS = re.compile(r"[\s_.-]")

# How secret names end, and which are secret as they stand; compared without case and separators, so that
# client_secret, Client-Secret and clientSecret are one name, and DB_PASSWORD is a password.
_ENDINGS = (
    "token", "secret", "password", "passwd", "passphrase", "authorization", "apikey", "privatekey", "secretkey",
    "accesskey", "signingkey", "encryptionkey", "credentials",
)  # fmt: skip
_NAMES = frozenset({"cookie", "setcookie", "pwd"})
_PLAIN_NAMES = frozenset({"pagetoken", "nextpagetoken", "nexttoken", "continuationtoken", "stoptoken"})


class SecretError(PermanentError):
    """A ``secret:`` handle that cannot be revealed: unknown, foreign, expired, or sealed with a lost key."""

    name = "SecretError"


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a value under the key ``name`` is to be kept secret; case and separators do not matter."""
    plain = _SEPARATORS.sub("", str(name)).lower()
    return plain in _NAMES or (plain.endswith(_ENDINGS) and plain not in _PLAIN_NAMES)


def handle_of(secret: Secret) -> str:
    """Return the text that stands for the secret wherever a value is expected: ``secret:<id>``."""
    return f"{PREFIX}{secret.pk}"


def seal(value: Any, customer: Owner) -> Any:
    """Return JSON ``value`` with every secret in it replaced by a handle; the same object when there is none.

    A secret is a non-empty string or a number under a secret-named key (:func:`is_secret_name`), directly or in a
    list, the password in an address, or all but the scheme of a notification service's, whatever that stands under.
    References (``${...}``), expressions and text that holds a handle stay as they are. Equal values of a customer under
    one name share a row. Touches the database only when there is something to seal.
    """
    found = _secrets_in(value)
    if not found:
        return value
    handles = _store(_id_of(customer), {(name, _digest(secret)): secret for name, secret in found})

    def replaced(name: str, item: Any) -> Any:
        if _is_secret(name, item):
            return handles[name, _digest(item)]
        if isinstance(item, str):
            return address_passwords.rewritten(item, lambda text: handles[IN_ADDRESS, _digest(text)])
        return item

    return _rewritten(value, replaced)


def seal_nowhere(value: Any) -> Any:
    """As :func:`seal`, without storing anything: every secret becomes one handle that stands for nothing."""
    return _covered(value, NOWHERE)


def reveal(value: Any, customer: Owner) -> Any:
    """Return JSON ``value`` with every handle replaced by its secret; the same object when there is none.

    A string that is a handle becomes the secret with its type; a handle within a longer string (``Bearer
    secret:...``) becomes text. Raises :class:`SecretError` naming the handle, never the value, for one that is
    unknown, expired, another customer's, or encrypted with a key that is not configured any more.
    """
    wanted = _handles_in(value)
    return _revealed(value, _load(_id_of(customer), wanted)) if wanted else value


def reveal_for(activity: "Activity", parameters: Any, customer: Owner) -> tuple[Any, Mapping[str, str]]:
    """Return the parameters as the activity gets them, and the revealed texts with their handles, for :func:`conceal`.

    Handles are revealed in the fields that declare it (``Activity.secret_uses``) and stay in those that keep them; in
    an address a secret is percent-encoded, so that it cannot change where the address leads. Raises
    :class:`SecretError` naming field and handle for a handle anywhere else, and as :func:`reveal`.
    """
    if not _handles_in(parameters):
        return parameters, {}
    uses = activity.secret_uses
    fields = parameters if isinstance(parameters, dict) else {"": parameters}
    for name, value in fields.items():
        for path, handle, text in misplaced(value, uses.get(name), name):
            raise SecretError(f"{path or 'parameters'}: {refusal(activity.name, handle, uses, text)}")
    revealed = {name: value for name, value in fields.items() if uses.get(name) in ("value", "url")}
    known = _load(_id_of(customer), _handles_in(revealed))
    encoded = {key: quote(_as_text(secret), safe="") for key, secret in known.items()}
    given = {
        name: _revealed(value, encoded, is_encoded=True) if uses[name] == "url" else _revealed(value, known)
        for name, value in revealed.items()
    }
    texts = {text: f"{PREFIX}{key}" for key, secret in known.items() for text in (_as_text(secret), encoded[key])}
    return fields | given, {text: handle for text, handle in texts.items() if len(text) >= SHORTEST}


def conceal(value: Any, known: Mapping[str, str]) -> Any:
    """Return JSON ``value`` with every text of ``known`` replaced by its handle, wherever it stands.

    This is for what an activity says and gives back: it may repeat a secret under any name. Secrets of fewer than
    six characters are left alone, since they occur by chance. The same object when there is nothing to conceal.
    """
    if not known:
        return value
    longest_first = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))

    def replaced(_name: str, item: Any) -> Any:
        return longest_first.sub(lambda match: known[match[0]], item) if isinstance(item, str) else item

    return _rewritten(value, replaced)


def mask(value: Any) -> Any:
    """Return JSON ``value`` for display: what :func:`seal` would seal reads ``***``. Handles may be seen."""
    return _covered(value, MASK)


def write_secret(
    customer: Owner, value: Any, *, name: str, expires_at: datetime | None = None, secret: Secret | None = None
) -> Secret:
    """Store ``value`` under ``name``, or give ``secret`` another value, name and expiry; its handle stays.

    Raises ``IntegrityError`` if the customer has the same value under the same name already.
    """
    row = secret or Secret()
    row.customer_id = _id_of(customer)
    row.name, row.expires_at = name, expires_at
    row.digest, row.ciphertext = _digest(value), _fernet().encrypt(_canonical(value))
    with transaction.atomic():  # the audit trail records it along
        row.save()
    return row


def equal_secrets(customer: Owner, value: Any, *, name: str) -> QuerySet[Secret]:
    """Return the customer's secrets of that name and value, one at most; tells nothing about values."""
    return Secret.objects.filter(customer_id=_id_of(customer), digest=_digest(value), name=name)


def _covered(value: Any, cover: str) -> Any:
    if not _secrets_in(value):
        return value

    def replaced(name: str, item: Any) -> Any:
        if _is_secret(name, item):
            return cover
        return address_passwords.rewritten(item, lambda _: cover) if isinstance(item, str) else item

    return _rewritten(value, replaced)


def _revealed(value: Any, known: Mapping[str, Any], *, is_encoded: bool = False) -> Any:
    """A copy of ``value`` with every handle replaced by what ``known`` has for its id.

    In an address it must be percent-encoded, or it would end where the address does not.
    """

    def text_for(match: "re.Match[str]") -> str:
        text = _as_text(known[match[1]])
        return quote(text, safe="") if not is_encoded and address_passwords.is_in_user_information(match) else text

    def replaced(_name: str, item: Any) -> Any:
        if not isinstance(item, str) or PREFIX not in item:
            return item
        whole = HANDLE.fullmatch(item)
        if whole is not None:
            return known[whole[1]]
        return HANDLE.sub(text_for, item)

    return _rewritten(value, replaced)


# -- finding and replacing, without recursion: values nest as deep as JSON does ------------------------------------


def _is_secret(name: str, item: Any) -> bool:
    """Whether a scalar under ``name`` is a secret in the open."""
    if not is_secret_name(name) or isinstance(item, bool) or not isinstance(item, str | int | float):
        return False
    if not isinstance(item, str):
        return True
    return bool(item) and item != MASK and not _REFERENCE.fullmatch(item) and not HANDLE.search(item)


def _secrets_in(value: Any) -> list[tuple[str, Any]]:
    """Every secret in the open, as ``(name, value)``. Runs at every step of the engine: most values have none."""
    found: list[tuple[str, Any]] = []
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        name, node = stack.pop()
        if isinstance(node, dict):
            for key, item in node.items():
                if isinstance(item, _CONTAINERS):
                    stack.append((key, item))
                elif is_secret_name(key) and _is_secret(key, item):
                    found.append((key, item))
                elif isinstance(item, str) and "://" in item:
                    found.extend((IN_ADDRESS, text) for text in address_passwords.passwords_in(item))
        elif isinstance(node, list):
            is_secret = is_secret_name(name)
            for item in node:
                if isinstance(item, _CONTAINERS):
                    stack.append((name, item))
                elif is_secret and _is_secret(name, item):
                    found.append((name, item))
                elif isinstance(item, str) and "://" in item:
                    found.extend((IN_ADDRESS, text) for text in address_passwords.passwords_in(item))
        elif isinstance(node, str):  # the value itself
            found.extend((IN_ADDRESS, text) for text in address_passwords.passwords_in(node))
    return found


def _handles_in(value: Any) -> set[str]:
    found: set[str] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            if PREFIX in node:
                found.update(HANDLE.findall(node))
        elif isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return found


def _rewritten(value: Any, replaced: Callable[[str, Any], Any]) -> Any:
    """A copy of ``value``: each scalar is what ``replaced(name, scalar)`` gives; items have their list's name."""
    root: list[Any] = [value]
    stack: list[tuple[str, Any, Any]] = [("", root, 0)]
    while stack:
        name, parent, place = stack.pop()
        node = parent[place]
        if isinstance(node, dict):
            parent[place] = copied = dict(node)
            stack.extend((key, copied, key) for key in copied)
        elif isinstance(node, list):
            parent[place] = items = list(node)
            stack.extend((name, items, index) for index in range(len(items)))
        else:
            parent[place] = replaced(name, node)
    return root[0]


# -- rows ----------------------------------------------------------------------------------------------------------


def _id_of(customer: Owner) -> UUID:
    if isinstance(customer, Customer):
        return customer.pk
    return customer if isinstance(customer, UUID) else UUID(customer)


def _store(customer: UUID, secrets: Mapping[tuple[str, str], Any]) -> dict[tuple[str, str], str]:
    """Return the handle of each ``(name, digest)``; what is new is written. Two writers of one value get one row."""
    handles = _find(customer, secrets)
    missing = [key for key in secrets if key not in handles]
    if missing:
        fernet = _fernet()
        Secret.objects.bulk_create(
            [
                Secret(
                    customer_id=customer,
                    name=_name_for(name),
                    digest=digest,
                    ciphertext=fernet.encrypt(_canonical(secrets[name, digest])),
                )
                for name, digest in missing
            ],
            ignore_conflicts=True,
        )
        # A row that was there but had expired is in use again.
        digests = [digest for _, digest in missing]
        Secret.objects.filter(customer_id=customer, digest__in=digests, expires_at__lte=timezone.now()).update(
            expires_at=None
        )
        handles |= _find(customer, missing)
    return handles


def _find(
    customer: UUID, keys: Mapping[tuple[str, str], Any] | Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    rows = Secret.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=timezone.now()),
        customer_id=customer,
        digest__in={digest for _, digest in keys},
    ).only("name", "digest")
    by_name = {(row.name, row.digest): handle_of(row) for row in rows}
    return {
        (name, digest): by_name[_name_for(name), digest]
        for name, digest in keys
        if (_name_for(name), digest) in by_name
    }


def _load(customer: UUID, ids: set[str]) -> dict[str, Any]:
    rows = {str(row.pk): row for row in Secret.objects.filter(pk__in=ids, customer_id=customer)}
    now, fernet, known = timezone.now(), _fernet(), {}
    for key in sorted(ids):
        row = rows.get(key)
        if row is None:
            raise SecretError(f"there is no secret with the handle {PREFIX}{key}")
        if row.expires_at is not None and row.expires_at <= now:
            raise SecretError(f"the secret {PREFIX}{key} expired at {row.expires_at:%Y-%m-%dT%H:%M:%SZ}")
        try:
            known[key] = json.loads(fernet.decrypt(bytes(row.ciphertext)))
        except InvalidToken:
            raise SecretError(
                f"the secret {PREFIX}{key} was encrypted with another POIMEN_SECRET_KEY; enter its value again"
            ) from None
    return known


def _name_for(key: str) -> str:
    return str(key)[:128]


# -- keys ----------------------------------------------------------------------------------------------------------


def _canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _canonical(value).decode()


def _digest(value: Any) -> str:
    return hmac.new(
        _derived(settings.SECRET_KEY, b"poimen secrets: digest"), _canonical(value), hashlib.sha256
    ).hexdigest()


def _fernet() -> MultiFernet:
    """Encrypts with the current key; decrypts with that or one of SECRET_KEY_FALLBACKS."""
    return _fernet_of(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


@lru_cache(maxsize=4)
def _fernet_of(*keys: str) -> MultiFernet:
    return MultiFernet([Fernet(base64.urlsafe_b64encode(_derived(key, b"poimen secrets: encryption"))) for key in keys])


def encrypted(value: Any) -> bytes:
    """Return JSON ``value`` encrypted with the installation's key, for what is nobody's secret alone."""
    return _fernet().encrypt(_canonical(value))


def decrypted(ciphertext: bytes) -> Any:
    """Return what :func:`encrypted` was given; raises :class:`SecretError` if the key is not configured any more."""
    try:
        return json.loads(_fernet().decrypt(bytes(ciphertext)))
    except InvalidToken:
        raise SecretError("it was encrypted with another POIMEN_SECRET_KEY; enter it again") from None


def secret_texts_in(value: Any) -> dict[str, str]:
    """Return every secret in JSON ``value`` that can be looked for in texts, each with what to show for it."""
    texts = (_as_text(secret) for _, secret in _secrets_in(value))
    return {text: MASK for text in texts if len(text) >= SHORTEST}


def keyed_digest(data: bytes, purpose: bytes) -> str:
    """SHA-256 of ``data`` in hex, keyed (HMAC) for one purpose: who has not the installation's key can try nothing."""
    return hmac.new(_derived(settings.SECRET_KEY, purpose), data, hashlib.sha256).hexdigest()


@lru_cache(maxsize=16)
def _derived(key: str, purpose: bytes) -> bytes:
    """32 bytes for one purpose out of the installation's key (HKDF-SHA256, RFC 5869)."""
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose).derive(key.encode())
