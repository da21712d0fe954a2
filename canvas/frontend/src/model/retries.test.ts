import { expect, test } from "vitest";
import { faultOf, numberOr, spokenSeconds, waits, withDetail } from "./retries";

test("a number of attempts stays a number until more is said, and keys that are not known stay", () => {
  expect(withDetail(undefined, "maxAttempts", 3)).toBe(3);
  expect(withDetail(3, "jitter", 0)).toEqual({ maxAttempts: 3, jitter: 0 });
  expect(withDetail({ maxAttempts: 3, jitter: 0 }, "jitter", undefined)).toBe(3);
  expect(withDetail({ maxAttempts: 3, own: 1 }, "maxAttempts", undefined)).toEqual({ own: 1 });
  expect(withDetail(3, "maxAttempts", undefined)).toBe(undefined);
});

test("what the server would refuse is told", () => {
  expect(faultOf("maxAttempts", 11)).toContain("1 to 10");
  expect(faultOf("maxAttempts", numberOr("many"))).toContain("whole number");
  expect(faultOf("backoffCoefficient", 0.5)).toContain("1 to 100");
  expect(faultOf("jitter", 0.1)).toBe("");
  expect(faultOf("initialInterval", "0s")).toBe("");
  expect(faultOf("maxInterval", "5")).toContain("no duration");
});

test("the waits are those of the engine", () => {
  expect(waits(4, { attempts: 1, backoff: 2 })).toEqual([2, 4, 8]);
  expect(waits({ initialInterval: "1m", maxInterval: "3m" }, { attempts: 4, backoff: 2 })).toEqual([60, 120, 180]);
  expect(waits(1, { attempts: 1, backoff: 2 })).toEqual([]);
  expect(waits({ initialInterval: "soon" }, { attempts: 3, backoff: 2 })).toEqual([]);
  expect([0.5, 2, 90, 300].map(spokenSeconds)).toEqual(["500ms", "2s", "1m30s", "5m"]);
});
