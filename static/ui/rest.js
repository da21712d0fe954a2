// The REST API as this page's user: session cookie, CSRF token and customer go along with every request.

const meta = (name) => document.querySelector(`meta[name="${name}"]`);

export function customer() {
  return meta("customer")?.content ?? "";
}

// Answers the JSON of a 2xx; throws an Error with the server's sentence, and `status` (0 when it was not reached).
export async function request(method, path, { body, headers = {}, signal } = {}) {
  const sent = { Accept: "application/json", ...headers };
  const holder = meta("customer");
  if (holder) sent[holder.dataset.header] = holder.content;
  if (method !== "GET") {
    sent["X-CSRFToken"] = meta("csrf-token").content;
    sent["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw Object.assign(new Error("The server cannot be reached. Try again."), { status: 0 });
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const signedOut = response.status === 401;
  const sentence = signedOut ? "You have been signed out; sign in again." : answer.error ?? `The server answered ${response.status}.`;
  throw Object.assign(new Error(sentence), { status: response.status, answer });
}
