// The customer's secrets by name; picked, a field holds the handle of one. Values are never shown, nor made here.
import type { ReactElement } from "react";
import { useAsked } from "../../behaviours/asking";
import { secrets } from "../../server/secrets";
import { Icon } from "../icons";
import { type Choice, Picker } from "./Picker";

export function SecretPicker({
  onPick,
  onClose,
}: {
  onPick: (handle: string) => void;
  onClose: () => void;
}): ReactElement {
  const asked = useAsked(secrets, "");
  if (asked.state === "asking") return <p className="quiet small">Asking for the names of the secrets…</p>;
  if (asked.state === "failed") return <p className="problem-text">{asked.message}</p>;
  const choices: Choice[] = asked.value.map((one) => ({
    key: one.handle,
    words: `${one.name} ${one.handle}`,
    isFaint: isPast(one.expiresAt),
    content: (
      <>
        <strong dir="auto">{one.name || "without a name"}</strong>
        <span className="quiet type">
          {one.expiresAt ? `${isPast(one.expiresAt) ? "expired" : "until"} ${one.expiresAt.slice(0, 10)}` : ""}
        </span>
        <span>
          {one.handle.slice(0, 15)}… of {one.createdAt.slice(0, 10)}
        </span>
      </>
    ),
  }));
  return (
    <>
      <Picker label="Secrets" choices={choices} nothing="There are no secrets yet." onPick={onPick} onClose={onClose} />
      <a className="small" href="/admin/workflows/secret/add/" target="_blank" rel="noreferrer">
        Make a secret in the admin
      </a>
    </>
  );
}

// A field that holds a secret and nothing else.
export function HeldSecret({
  handle,
  disabled,
  onRemove,
}: {
  handle: string;
  disabled: boolean;
  onRemove: () => void;
}): ReactElement {
  const asked = useAsked(() => (disabled ? Promise.resolve([]) : secrets()), handle);
  const name = asked.state === "there" ? asked.value.find((one) => one.handle === handle)?.name : "";
  return (
    <div className="held-secret">
      <Icon name="lock" />
      <span className="grow">
        <strong dir="auto">{name || "a secret"}</strong> <code>{handle.slice(0, 15)}…</code>
      </span>
      {!disabled && (
        <button type="button" className="plain" title="Take the secret out" onClick={onRemove}>
          <Icon name="close" />
          <span className="hidden">Take the secret out</span>
        </button>
      )}
    </div>
  );
}

function isPast(moment: string): boolean {
  return moment !== "" && Date.parse(moment) < Date.now();
}
