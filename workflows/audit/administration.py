"""Records of what administrators do to customers, memberships, secrets, users and the like, wherever they do it.

Listens to the models' signals; apps name theirs with :func:`tell_of`. Refuses to look at values that are secret: names,
roles and limits are told, those never.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save, pre_save

from workflows.audit.origin import current
from workflows.audit.recording import record
from workflows.models import Customer, Membership, Secret

_BEFORE = "_audit_before"


@dataclass(frozen=True, slots=True)
class Told:
    """What the trail says of rows of a model; ``hidden`` columns are said to be replaced, never what they hold."""

    kind: str
    fields: tuple[str, ...]
    identity: Callable[[Any], dict[str, Any]]  # what tells people which row it was
    customer: Callable[[Any], UUID | None]  # in whose trail; None: the installation's
    hidden: tuple[str, ...] = ()
    hidden_name: str = ""


_TOLD: dict[type[Model], Told] = {}


def tell_of(model: type[Model], told: Told) -> None:
    """Record from now on what is made, changed and deleted of ``model``; once for each process."""
    _TOLD[model] = told
    pre_save.connect(_remember, sender=model, dispatch_uid=f"audit-before-{told.kind}")
    post_save.connect(_saved, sender=model, dispatch_uid=f"audit-save-{told.kind}")
    post_delete.connect(_deleted, sender=model, dispatch_uid=f"audit-delete-{told.kind}")


def listen() -> None:
    """Start recording; once for each process."""
    tell_of(
        Customer,
        Told("customer", ("name", "slug", "max_running_branches"), lambda row: {"slug": row.slug}, lambda row: row.pk),
    )
    tell_of(
        Membership,
        Told(
            "membership",
            ("role",),
            lambda row: {"user": row.user.get_username(), "role": row.role},
            lambda row: row.customer_id,
        ),
    )
    tell_of(
        Secret,
        Told(
            "secret",
            ("name", "expires_at"),
            lambda row: {"name": row.name},
            lambda row: row.customer_id,
            hidden=("digest",),
            hidden_name="the value",
        ),
    )
    tell_of(
        User,
        Told(
            "user",
            ("username", "is_active", "is_staff", "is_superuser"),
            lambda row: {"username": row.get_username()},
            lambda row: None,
            hidden=("password",),
            hidden_name="the password",
        ),
    )
    user_login_failed.connect(_sign_in_failed, dispatch_uid="audit-sign-in")


def _remember(sender: type[Model], instance: Any, raw: bool = False, update_fields: Any = None, **_: Any) -> None:
    if raw or _is_sign_in(update_fields) or instance._state.adding:  # noqa: SLF001 - documented by Django
        return
    told = _TOLD[sender]
    known = sender._default_manager.filter(pk=instance.pk).values(*told.fields, *told.hidden).first()  # noqa: SLF001
    setattr(instance, _BEFORE, known)


def _saved(
    sender: type[Model], instance: Any, created: bool, raw: bool = False, update_fields: Any = None, **_: Any
) -> None:
    if raw or _is_sign_in(update_fields):
        return
    before = instance.__dict__.pop(_BEFORE, None) or {}
    told = _TOLD[sender]
    details: dict[str, Any] = told.identity(instance)
    if created:
        details |= {name: getattr(instance, name) for name in told.fields}
    else:
        changes = {n: {"from": before.get(n), "to": getattr(instance, n)} for n in told.fields}
        details |= {name: change for name, change in changes.items() if change["from"] != change["to"]}
        if any(before.get(name) != getattr(instance, name) for name in told.hidden):
            details["replaced"] = told.hidden_name
    _write(sender, instance, "created" if created else "changed", details)
    if created and isinstance(instance, Membership):
        _tell_elsewhere(instance)


def _deleted(sender: type[Model], instance: Any, **_: Any) -> None:
    _write(sender, instance, "deleted", _TOLD[sender].identity(instance))


def _sign_in_failed(sender: Any, credentials: dict[str, Any], request: Any = None, **_: Any) -> None:
    """Failures go into the trails of the user's customers. Names nobody has are not kept: they may be passwords."""
    address = current().address or (str(request.META.get("REMOTE_ADDR", "")) if request is not None else "")
    name = credentials.get(User.USERNAME_FIELD)
    user = User.objects.filter(username=name).first() if isinstance(name, str) and "\0" not in name else None
    customers: list[UUID | None] = [None]
    if user is not None:
        customers = list(user.memberships.order_by("customer_id").values_list("customer_id", flat=True)) or [None]
    target = ("user", user.pk if user is not None else "unknown")
    details = {"address": address, **({"name": user.get_username()} if user is not None else {})}
    with transaction.atomic():
        for customer in customers:
            record(customer, "sign_in.failed", target=target, actor="", details=details)


def _write(sender: type[Model], instance: Any, what: str, details: dict[str, Any]) -> None:
    told = _TOLD[sender]
    with transaction.atomic(savepoint=False):
        record(told.customer(instance), f"{told.kind}.{what}", target=(told.kind, instance.pk), details=details)


def _tell_elsewhere(membership: Membership) -> None:
    """Tell the customers of a new member that they are another's now too; whose, is not theirs to know."""
    others = Membership.objects.filter(user_id=membership.user_id).exclude(pk=membership.pk).order_by("customer_id")
    details = {"user": membership.user.get_username()}
    with transaction.atomic(savepoint=False):
        for customer, pk in others.values_list("customer_id", "pk"):
            record(customer, "membership.added_elsewhere", target=("membership", pk), details=details)


def _is_sign_in(update_fields: Any) -> bool:
    return update_fields is not None and set(update_fields) <= {"last_login"}
