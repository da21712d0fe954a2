// Something that is asked of the server once a part of the page is shown, with what came of it.
import { useEffect, useState } from "react";

export type Asked<T> = { state: "asking" } | { state: "there"; value: T } | { state: "failed"; message: string };

// Asks when first shown, and again whenever `key` is another one.
export function useAsked<T>(ask: () => Promise<T>, key: string): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ state: "asking" });
  useEffect(() => {
    let isGone = false;
    setAsked({ state: "asking" });
    ask()
      .then((value) => isGone || setAsked({ state: "there", value }))
      .catch((error: Error) => isGone || setAsked({ state: "failed", message: error.message }));
    return () => {
      isGone = true;
    };
  }, [key]);
  return asked;
}
