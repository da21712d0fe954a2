"""``poimen approvals|approve|reject``: what waits for people, and their votes.

Refuses to decide for nobody: a vote is that of a person in the role approver.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from poimen_site.cli.faults import OK, Fault, usage
from poimen_site.cli.session import Session, uuid_in
from poimen_site.cli.verbs import Run, Verbs
from workflows.api import acts
from workflows.api.gates import gate_body, gates_of
from workflows.models import ApprovalGate, Customer, Role
from workflows.models.approval import GateStatus

MOST = 100


def add_verbs(verbs: Verbs) -> None:
    """Declare them."""
    listing = verbs.add("approvals", "List what waits for a decision.", _list)
    listing.add_argument("--all", action="store_true", help=f"decided and expired ones too, the newest {MOST}")
    for name, approve in (("approve", True), ("reject", False)):
        parser = verbs.add(name, f"{name.capitalize()} what waits for a decision.", _voting(approve=approve))
        parser.add_argument("gate", help="id of the approval, or of the execution that waits for it")
        parser.add_argument("--reason", default="", help="why" if approve else "why; a rejection needs one")


def _list(session: Session, options: Mapping[str, Any]) -> int:
    rows = gates_of(session.readable())
    chosen = rows.order_by("-created_at")[:MOST] if options["all"] else rows.filter(status=GateStatus.PENDING)
    bodies = [gate_body(gate) for gate in (chosen if options["all"] else chosen.order_by("created_at"))]
    if session.is_json:
        session.document(bodies)
        return OK
    table = [
        (
            b["id"], b["status"], b["subject"], b["state"], f"{b['approvals']} of {b['requiredApprovals']}",
            b.get("expiresIn") or b.get("decidedAt", ""), b["executionId"],
        )
        for b in bodies
    ]  # fmt: skip
    session.table(("id", "status", "subject", "state", "approvals", "left", "execution"), table)
    return OK


def _voting(*, approve: bool) -> Run:
    def run(session: Session, options: Mapping[str, Any]) -> int:
        if (pk := uuid_in(options["gate"])) is not None:
            gates = ApprovalGate.objects.filter(Q(pk=pk) | Q(execution=pk))
            session.act_for(Customer.objects.filter(pk__in=gates.values("customer")).first())
        access = session.access(Role.APPROVER)
        gate = _gate_in(session, options["gate"])
        body = acts.vote(access, session.user(Role.APPROVER), gate, {"reason": options["reason"]}, approve=approve)
        if session.is_json:
            session.document(body)
            return OK
        given = f"{body['approvals']} of {body['requiredApprovals']} approvals"
        session.stdout.write(f"{body['subject']} {body['id']}: {session.status(body['status'])} ({given})")
        return OK

    return run


def _gate_in(session: Session, text: str) -> str:
    """The id of the gate that ``text`` means: its own, or that of the execution that waits for one decision."""
    pk = uuid_in(text)
    if pk is None:
        raise usage(f"{text!r} is not the id of an approval or an execution; poimen approvals lists them")
    waiting = ApprovalGate.objects.filter(customer=session.customer, execution=pk, status=GateStatus.PENDING)
    gates = [str(gate) for gate in waiting.values_list("pk", flat=True)]
    if len(gates) > 1:
        raise usage(f"the execution waits for several decisions; take one of them: {', '.join(gates)}")
    if gates:
        return gates[0]
    if not ApprovalGate.objects.filter(customer=session.customer, pk=pk).exists():
        raise Fault(f"nothing waits for a decision under the id {pk}; poimen approvals lists what does")
    return text
