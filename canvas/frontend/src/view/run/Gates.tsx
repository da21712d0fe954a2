// A decision that the run waits for: what is asked, who voted, until when, and the vote itself.
import { type ReactElement, useEffect, useState } from "react";
import { vote } from "../../behaviours/steering";
import { type Gate, rights, useRun } from "../../run";
import { Icon } from "../icons";
import { spoken } from "../RunBadge";

export function Gates({ node }: { node?: string }): ReactElement | null {
  const gates = useRun((run) => run.gates);
  const shown = gates.filter((gate) => node === undefined || gate.state === node);
  if (!shown.length) return null;
  return (
    <>
      {shown.map((gate) => (
        <GateCard key={gate.id} gate={gate} />
      ))}
    </>
  );
}

function GateCard({ gate }: { gate: Gate }): ReactElement {
  const [reason, setReason] = useState("");
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const approvals = gate.votes.filter((one) => one.approve);
  async function decide(isApproval: boolean): Promise<void> {
    if (!isApproval && !reason.trim()) return setFault("A rejection needs a reason.");
    setBusy(true);
    setFault("");
    try {
      await vote(gate.id, isApproval, reason.trim());
      setReason("");
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <section className="gate-card tone-wait" aria-label={`Decision: ${gate.subject}`}>
      <h3 dir="auto">
        <Icon name="approval" /> {gate.subject}
      </h3>
      {gate.description && (
        <p className="said-by-people" dir="auto">
          {gate.description}
        </p>
      )}
      <p className="quiet small">
        {approvals.length} of {gate.required} {gate.required === 1 ? "approval" : "approvals"}
        {approvals.length > 0 && ` (${approvals.map((one) => one.user).join(", ")})`} ·{" "}
        <Closing until={gate.expiresAt} />
      </p>
      {rights.mayApprove ? (
        <form onSubmit={(event) => event.preventDefault()}>
          <label className="field">
            Reason (a rejection needs one)
            <textarea
              rows={2}
              maxLength={4000}
              dir="auto"
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          </label>
          {fault && (
            <p className="problem-text" role="alert">
              {fault}
            </p>
          )}
          <div className="row">
            <button type="button" className="button good" disabled={isBusy} onClick={() => void decide(true)}>
              <Icon name="check" />
              Approve
            </button>
            <button type="button" className="button danger" disabled={isBusy} onClick={() => void decide(false)}>
              <Icon name="cross" />
              Reject
            </button>
          </div>
        </form>
      ) : (
        <p className="quiet small">Deciding needs the role approver.</p>
      )}
    </section>
  );
}

function Closing({ until }: { until: string }): ReactElement {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, []);
  const left = Date.parse(until) - now;
  if (!Number.isFinite(left)) return <span />;
  return (
    <time dateTime={until} title={new Date(until).toLocaleString()}>
      {left > 0 ? `closes in ${spoken(left)}` : "closes now"}
    </time>
  );
}
