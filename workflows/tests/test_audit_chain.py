"""The audit trail as a chain: whatever is changed, cut, moved or put in shows, and where."""

import contextlib
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.db.transaction import TransactionManagementError

from workflows import approvals, control
from workflows.audit import anchor, record
from workflows.audit.verification import Finding, verify_chain
from workflows.engine.clock import Clock
from workflows.engine.store import connection_parameters
from workflows.models import AuditHead, AuditRecord, Customer, Role
from workflows.models.audit import INSTALLATION
from workflows.tests.people import customer, member, started
from workflows.tests.test_approvals import gate

RECORDS = 5


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, settings: Any) -> None:
    settings.POIMEN_HOME = tmp_path


@pytest.fixture
def trail(db: None) -> Customer:
    made = customer("trail")
    for number in range(1, RECORDS):  # making the customer was the first act
        acted(made.pk, number)
    return made


def acted(chain: UUID, number: int = 0) -> None:
    with transaction.atomic():
        record(
            chain, "execution.paused", target=("execution", uuid4()), actor="ann", execution=uuid4(),
            details={"number": number, "reason": "ä reason", "share": 1e22, "api_key": "very secret"},
        )  # fmt: skip


def tampered(sql: str, *parameters: Any) -> None:
    """Do what only the owner of the database can: without the triggers."""
    with connection.cursor() as cursor:
        for table in ("auditrecord", "audithead"):
            cursor.execute(f"ALTER TABLE workflows_{table} DISABLE TRIGGER USER")
        cursor.execute(sql, parameters)
        for table in ("auditrecord", "audithead"):
            cursor.execute(f"ALTER TABLE workflows_{table} ENABLE TRIGGER USER")


def rows(chain: Customer) -> list[AuditRecord]:
    return list(AuditRecord.objects.filter(customer_id=chain.pk).order_by("seq"))


def test_records_count_from_one_and_are_whole(trail: Customer) -> None:
    kept = rows(trail)
    assert [row.seq for row in kept] == [1, 2, 3, 4, 5]
    assert [row.previous_hash for row in kept[1:]] == [row.hash for row in kept[:-1]]
    assert verify_chain(trail.pk) == Finding(trail.pk, RECORDS)
    assert "very secret" not in "".join(row.details for row in kept)
    assert [row.actor_kind for row in kept] == ["system", "user", "user", "user", "user"]


@pytest.mark.parametrize(
    "sql",
    ["UPDATE workflows_auditrecord SET actor = 'bob'", "DELETE FROM workflows_auditrecord",
     "TRUNCATE workflows_auditrecord", "DELETE FROM workflows_audithead",
     "UPDATE workflows_audithead SET seq = seq - 1"],
)  # fmt: skip
def test_the_database_refuses_to_change_or_remove_records(trail: Customer, sql: str) -> None:
    with pytest.raises(DatabaseError, match="audit trail"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)
    assert verify_chain(trail.pk).problem == ""


@pytest.mark.parametrize(
    "change",
    ["actor = 'bob'", "at = at + interval '1 microsecond'", "details = '{}'", "action = 'execution.resumed'",
     "target_id = 'other'", "actor_kind = 'system'", "execution_id = NULL", "request_id = 'r'",
     "workflow_id = '00000000-0000-0000-0000-000000000001'", "target_kind = 'workflow'"],
)  # fmt: skip
def test_a_changed_record_is_named(trail: Customer, change: str) -> None:
    tampered(f"UPDATE workflows_auditrecord SET {change} WHERE customer_id = %s AND seq = 3", trail.pk)
    assert verify_chain(trail.pk) == Finding(trail.pk, 2, "record 3 was changed: its hash does not fit its contents")


def test_a_record_removed_from_the_middle_is_named(trail: Customer) -> None:
    tampered("DELETE FROM workflows_auditrecord WHERE customer_id = %s AND seq IN (2, 3)", trail.pk)
    assert verify_chain(trail.pk) == Finding(trail.pk, 1, "records 2 to 3 are missing")


def test_records_that_changed_places_are_named(trail: Customer) -> None:
    tampered("UPDATE workflows_auditrecord SET seq = seq + 100 WHERE customer_id = %s AND seq = 2", trail.pk)
    tampered("UPDATE workflows_auditrecord SET seq = 2 WHERE customer_id = %s AND seq = 3", trail.pk)
    tampered("UPDATE workflows_auditrecord SET seq = 3 WHERE customer_id = %s AND seq = 102", trail.pk)
    assert "record 2 does not follow record 1" in verify_chain(trail.pk).problem


def test_a_record_put_in_without_the_key_is_named(trail: Customer, settings: Any) -> None:
    ours = settings.SECRET_KEY
    settings.SECRET_KEY = "the attacker's own key, long enough to be one"
    acted(trail.pk)
    settings.SECRET_KEY = ours
    assert "record 6 was made with a key that is not configured" in verify_chain(trail.pk).problem


def test_records_of_a_former_key_stay_valid(trail: Customer, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "the next key of the installation, long enough"
    acted(trail.pk)
    assert verify_chain(trail.pk) == Finding(trail.pk, RECORDS + 1)


def test_a_cut_tail_contradicts_the_end_of_the_chain(trail: Customer) -> None:
    tampered("DELETE FROM workflows_auditrecord WHERE customer_id = %s AND seq > 3", trail.pk)
    found = verify_chain(trail.pk)
    assert found == Finding(trail.pk, 3, "records 4 to 5 are missing: the end of the chain knows of record 5")


def cut_with_its_end(trail: Customer) -> None:
    tampered("DELETE FROM workflows_auditrecord WHERE customer_id = %s AND seq > 3", trail.pk)
    tampered(
        "UPDATE workflows_audithead h SET seq = 3, hash = r.hash FROM workflows_auditrecord r "
        "WHERE h.customer_id = %s AND r.customer_id = h.customer_id AND r.seq = 3",
        trail.pk,
    )


@pytest.fixture
def raw(transactional_db: None) -> Iterator[psycopg.Connection]:
    with psycopg.connect(**connection_parameters()) as made:
        yield made


@pytest.fixture
def kept_trail(raw: psycopg.Connection) -> Customer:
    mended(INSTALLATION)  # as at the first start: nothing tells of an anchor that is not there
    made = customer(f"trail-{uuid4().hex[:8]}")
    for number in range(1, RECORDS):  # making the customer was the first act
        acted(made.pk, number)
    return made


def mended(chain: UUID) -> None:
    """Leave no broken trail to the tests that share the database."""
    tampered("DELETE FROM workflows_auditrecord WHERE customer_id = %s", chain)
    tampered("DELETE FROM workflows_audithead WHERE customer_id = %s", chain)


def verified(chain: Customer) -> tuple[str, str]:
    """What the command prints, and the error that ends it."""
    out = StringIO()
    try:
        call_command("audit_verify", customer=chain.slug, stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


@pytest.mark.django_db(transaction=True)
def test_a_tail_cut_with_its_end_contradicts_the_anchor(kept_trail: Customer, raw: psycopg.Connection) -> None:
    assert anchor.renew(raw)
    assert anchor.renew(raw), "the record of the first anchor is new"
    assert not anchor.renew(raw), "nothing is new"
    assert f"{kept_trail.slug}: 5 records, whole" in verified(kept_trail)[0]
    cut_with_its_end(kept_trail)
    assert verify_chain(kept_trail.pk).problem == "", "the database alone cannot tell"
    anchor.renew(raw)
    assert (anchor.read() or {})[str(kept_trail.pk)][0] == RECORDS, "an anchor never moves back"
    told, error = verified(kept_trail)
    assert "BROKEN after 3 sound records: records 4 to 5 are missing: the anchor knows of record 5" in told
    assert error == "1 audit trail is broken"
    # Going on from there does not hide it either.
    acted(kept_trail.pk)
    acted(kept_trail.pk)
    assert "record 5 is not the one that was anchored" in verified(kept_trail)[0]
    mended(kept_trail.pk)


@pytest.mark.django_db(transaction=True)
def test_after_a_restore_the_end_there_is_can_be_anchored(kept_trail: Customer, raw: psycopg.Connection) -> None:
    anchor.renew(raw)
    cut_with_its_end(kept_trail)
    call_command("audit_verify", customer=kept_trail.slug, anchor_anew=True, stdout=StringIO())
    assert verified(kept_trail)[1] == ""
    assert AuditRecord.objects.filter(action="audit.anchored_anew").exists(), "and the trail tells that it was"
    mended(kept_trail.pk)


@pytest.mark.django_db(transaction=True)
def test_records_that_nothing_anchors_are_not_called_whole(kept_trail: Customer, raw: psycopg.Connection) -> None:
    told, error = verified(kept_trail)
    assert f"{kept_trail.slug}: 5 records without a break; no anchor" in told
    assert "there is no audit anchor" in error
    assert "the clock writes the first one" in error
    anchor.renew(raw)
    assert verified(kept_trail)[1] == ""
    assert "Anchored since 20" in verified(kept_trail)[0]


@pytest.mark.django_db(transaction=True)
def test_an_anchor_that_is_removed_is_missed_and_never_begun_again(
    kept_trail: Customer, raw: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    anchor.renew(raw)
    kept = anchor.path().read_bytes()
    cut_with_its_end(kept_trail)
    anchor.path().unlink()
    assert "is gone, and there was one since 20" in verified(kept_trail)[1]
    assert not anchor.renew(raw)
    assert not anchor.path().exists(), "a new anchor would hide the cut"
    assert "without it a cut tail would not show" in caplog.text
    anchor.path().write_bytes(kept)
    assert "records 4 to 5 are missing" in verified(kept_trail)[0]
    anchor.path().unlink()
    call_command("audit_verify", customer=kept_trail.slug, anchor_anew=True, stdout=StringIO())
    acted(kept_trail.pk)
    assert anchor.renew(raw), "and from there it goes on"
    assert verified(kept_trail)[1] == ""
    mended(kept_trail.pk)


@pytest.mark.django_db(transaction=True)
def test_the_first_anchor_is_told_in_the_trail_once(kept_trail: Customer, raw: psycopg.Connection) -> None:
    for _ in range(3):
        acted(kept_trail.pk)
        anchor.renew(raw)
    assert AuditRecord.objects.filter(customer_id=INSTALLATION, action=anchor.FIRST).count() == 1
    # A trail that was anchored before it told of it, or whose teller was stopped in between, is mended.
    mended(INSTALLATION)
    anchor.path().unlink()
    anchor.write({})
    acted(kept_trail.pk)
    anchor.renew(raw)
    assert anchor.anchored_since() is not None


@pytest.mark.django_db(transaction=True)
def test_a_changed_anchor_is_told_and_kept(kept_trail: Customer, raw: psycopg.Connection) -> None:
    anchor.renew(raw)
    anchor.path().write_text(anchor.path().read_text().replace('"seq": 5', '"seq": 3'))
    assert "wrong signature" in verified(kept_trail)[1]
    changed = anchor.path().read_bytes()
    assert not anchor.renew(raw)
    assert anchor.path().read_bytes() == changed, "the evidence stays"
    mended(kept_trail.pk)


@pytest.mark.django_db(transaction=True)
def test_two_writers_take_turns_and_leave_no_gap(kept_trail: Customer) -> None:
    def write() -> None:
        for _ in range(20):
            acted(kept_trail.pk)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert verify_chain(kept_trail.pk) == Finding(kept_trail.pk, RECORDS + 80)


@pytest.mark.django_db(transaction=True)
def test_the_clock_anchors(kept_trail: Customer, raw: psycopg.Connection) -> None:
    assert anchor.read() is None
    Clock().tick(raw)
    assert (anchor.read() or {})[str(kept_trail.pk)] == (RECORDS, rows(kept_trail)[-1].hash)


@pytest.mark.django_db(transaction=True)
def test_many_who_act_at_once_on_the_same_things_leave_a_whole_trail(quickly_emptied: None) -> None:
    acme = customer(f"busy-{uuid4().hex[:8]}")
    asked = gate(5, slug=acme.slug)
    runs = [started(acme, by="ann").pk for _ in range(3)] + [asked.execution_id]
    voters = [member(acme, Role.APPROVER) for _ in range(6)]
    failures: list[Exception] = []

    def act(number: int) -> None:
        try:
            for turn in range(6):
                run = runs[(number + turn) % len(runs)]
                with contextlib.suppress(control.NotPossible):
                    [control.request_pause, control.request_resume][turn % 2](run, by=f"p{number}")
                control.send_signal(run, "go", by=f"p{number}")
                started(acme, by=f"p{number}")
                if turn == number:
                    with contextlib.suppress(approvals.VoteRefused):
                        approvals.vote(asked.pk, voters[number], approve=True)
        except Exception as failure:  # noqa: BLE001 - told by the test
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found = verify_chain(acme.pk)
    assert found.problem == ""
    trail = AuditRecord.objects.filter(customer_id=acme.pk)
    assert trail.filter(action="execution.signalled").count() == 36
    assert trail.filter(action="execution.started").count() == 3 + 36
    assert trail.filter(action="approval.approved").count() == 5


@pytest.mark.django_db
def test_what_is_rolled_back_leaves_no_record() -> None:
    made = customer("undone")
    with transaction.atomic():
        record(made.pk, "execution.paused", target=("execution", 1), actor="ann")
        assert len(rows(made)) == 2
        transaction.set_rollback(True)
    assert [row.action for row in rows(made)] == ["customer.created"]
    assert AuditHead.objects.get(customer_id=made.pk).seq == 1


@pytest.mark.django_db(transaction=True)
def test_a_record_outside_a_transaction_is_refused() -> None:
    with pytest.raises(TransactionManagementError):
        record(None, "execution.paused", target=("execution", 1), actor="ann")


@pytest.mark.django_db
def test_the_command_refuses_an_unknown_customer() -> None:
    with pytest.raises(CommandError, match="no customer with the slug or id 'nobody'"):
        call_command("audit_verify", customer="nobody", stdout=StringIO())
