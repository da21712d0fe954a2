"""Records of what administrators do to customers, memberships, secrets and users, wherever in the product they do it.

Listens to the models' signals; refuses to look at values: names, roles and limits are told, secrets never.
"""

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
_TOLD: dict[type[Model], tuple[str, ...]] = {
    Customer: ("name", "slug", "max_running_branches"),
    Membership: ("role",),
    Secret: ("name", "expires_at"),
    User: ("username", "is_active", "is_staff", "is_superuser"),
}
_KINDS: dict[type[Model], str] = {Customer: "customer", Membership: "membership", Secret: "secret", User: "user"}


def listen() -> None:
    """Start recording; once for each process."""
    for model in _TOLD:
        pre_save.connect(_remember, sender=model, dispatch_uid=f"audit-before-{_KINDS[model]}")
        post_save.connect(_saved, sender=model, dispatch_uid=f"audit-save-{_KINDS[model]}")
        post_delete.connect(_deleted, sender=model, dispatch_uid=f"audit-delete-{_KINDS[model]}")
    user_login_failed.connect(_sign_in_failed, dispatch_uid="audit-sign-in")


def _remember(sender: type[Model], instance: Any, raw: bool = False, update_fields: Any = None, **_: Any) -> None:
    if raw or _is_sign_in(update_fields) or instance._state.adding:  # noqa: SLF001 - documented by Django
        return
    known = sender._default_manager.filter(pk=instance.pk).values(*_TOLD[sender], *_hidden(sender)).first()  # noqa: SLF001
    setattr(instance, _BEFORE, known)


def _saved(
    sender: type[Model], instance: Any, created: bool, raw: bool = False, update_fields: Any = None, **_: Any
) -> None:
    if raw or _is_sign_in(update_fields):
        return
    before = instance.__dict__.pop(_BEFORE, None) or {}
    details: dict[str, Any] = _identity(instance)
    if created:
        details |= {name: getattr(instance, name) for name in _TOLD[sender]}
    else:
        changes = {n: {"from": before.get(n), "to": getattr(instance, n)} for n in _TOLD[sender]}
        details |= {name: change for name, change in changes.items() if change["from"] != change["to"]}
        replaced = [name for name in _hidden(sender) if before.get(name) != getattr(instance, name)]
        if replaced:
            details["replaced"] = "the password" if sender is User else "the value"
    _write(sender, instance, "created" if created else "changed", details)
    if created and isinstance(instance, Membership):
        _tell_elsewhere(instance)


def _deleted(sender: type[Model], instance: Any, **_: Any) -> None:
    _write(sender, instance, "deleted", _identity(instance))


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
    kind = _KINDS[sender]
    customer: UUID | None
    match instance:
        case Customer():
            customer = instance.pk
        case User():
            customer = None
        case _:
            customer = instance.customer_id
    with transaction.atomic(savepoint=False):
        record(customer, f"{kind}.{what}", target=(kind, instance.pk), details=details)


def _tell_elsewhere(membership: Membership) -> None:
    """Tell the customers of a new member that they are another's now too; whose, is not theirs to know."""
    others = Membership.objects.filter(user_id=membership.user_id).exclude(pk=membership.pk).order_by("customer_id")
    details = {"user": membership.user.get_username()}
    with transaction.atomic(savepoint=False):
        for customer, pk in others.values_list("customer_id", "pk"):
            record(customer, "membership.added_elsewhere", target=("membership", pk), details=details)


def _identity(instance: Any) -> dict[str, Any]:
    """What tells people which one it was."""
    match instance:
        case Membership():
            return {"user": instance.user.get_username(), "role": instance.role}
        case Secret():
            return {"name": instance.name}
        case User():
            return {"username": instance.get_username()}
        case _:
            return {"slug": instance.slug}


def _is_sign_in(update_fields: Any) -> bool:
    return update_fields is not None and set(update_fields) <= {"last_login"}


def _hidden(model: type[Model]) -> tuple[str, ...]:
    """Columns whose change is told, but not what they hold."""
    return {User: ("password",), Secret: ("digest",)}.get(model, ())
