// All clients share one limit on requests. So the page makes few requests that the user did not ask for.

const OWN_PER_MINUTE = 20;
/**
 * If the service allows fewer requests than this in the rest of the minute, the page makes requests only when the user
 * clicks something.
 */
const RESERVE = 15;
const MINUTE_MS = 60_000;

const asked: number[] = [];
let left = Number.POSITIVE_INFINITY;
let leftUntil = 0;

/** Reports whether the page may make a request without a click, and counts that request. */
export function mayAskByItself(): boolean {
  const now = performance.now();
  while (asked[0] !== undefined && now - asked[0] > MINUTE_MS) asked.shift();
  if (asked.length >= OWN_PER_MINUTE || isScarce()) return false;
  asked.push(now);
  return true;
}

/**
 * Reports whether the details pane may load its pictures without a click. It may not if requests are scarce, or if the
 * page has already made half of the `OWN_PER_MINUTE` requests that need no click.
 */
export const hasSpare = (): boolean => asked.length < OWN_PER_MINUTE / 2 && !isScarce();

/** Reports whether few requests are left. The page then makes requests only when the user clicks something. */
export const isScarce = (): boolean => performance.now() < leftUntil && left < RESERVE;

let tell = (_isScarce: boolean): void => {};

/** Calls `watcher` whenever the service has said how many requests are left. */
export function onScarcity(watcher: (isScarce: boolean) => void): void {
  tell = watcher;
}

/** Reads how many requests are left (`RateLimit: "default";r=42;t=17`). */
export function noteLimit(headers: Headers): void {
  const [, remaining, seconds] = /r=(\d+);t=(\d+)/.exec(headers.get('RateLimit') ?? '') ?? [];
  if (remaining === undefined) return;
  left = Number(remaining);
  leftUntil = performance.now() + Number(seconds) * 1000;
  tell(isScarce());
  if (isScarce()) setTimeout(() => tell(isScarce()), Number(seconds) * 1000 + 50);
}

/** The limit has been reached: no request is answered for `leftS` more seconds. */
export interface Limited {
  readonly leftS: number;
  /** Number of requests in each minute; undefined if the service did not say it. */
  readonly perMinute: number | undefined;
}

let perMinute: number | undefined;
let limitedUntil = 0;
let clock: ReturnType<typeof setInterval> | undefined;
const waiting: (() => void)[] = [];
let tellLimited = (_limited: Limited | undefined): void => {};

/** Calls `watcher` each second while the limit is reached, and with undefined once requests are possible again. */
export function onLimited(watcher: (limited: Limited | undefined) => void): void {
  tellLimited = watcher;
}

/** Notes that the service refused a request because the limit is reached. */
export function noteLimited(headers: Headers): void {
  const [, quota] = /q=(\d+)/.exec(headers.get('RateLimit-Policy') ?? '') ?? [];
  perMinute = quota === undefined ? undefined : Number(quota);
  const waitMs = 1000 * Math.max(1, Number(headers.get('Retry-After') ?? 1));
  limitedUntil = Math.max(limitedUntil, performance.now() + waitMs);
  clock ??= setInterval(countDown, 1000);
  countDown();
}

function countDown(): void {
  const leftS = Math.ceil((limitedUntil - performance.now()) / 1000);
  if (leftS > 0) {
    tellLimited({ leftS, perMinute });
    return;
  }
  clearInterval(clock);
  clock = undefined;
  tellLimited(undefined);
  for (const go of waiting.splice(0)) go();
}

/** Resolves once requests are possible again; at once unless the limit is reached. */
export async function untilAllowed(): Promise<void> {
  if (clock !== undefined) await new Promise<void>((resolve) => waiting.push(resolve));
}
