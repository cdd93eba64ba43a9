import { MINUTE_MS } from '../../../core/model/durations.ts';

// All clients share one limit on requests. So the page makes few requests that the user did not ask for.

const LEAST_OWN = 20;
/**
 * If the service allows fewer requests than this in the rest of the minute, the page makes requests only when the user
 * clicks something.
 */
const RESERVE = 15;

const asked: number[] = [];
let left = Number.POSITIVE_INFINITY;
let leftUntil = 0;

/** The requests that the page may make in a minute without a click: a third of all that the service allows. */
const ownPerMinute = (): number => Math.max(LEAST_OWN, Math.floor((perMinute ?? 0) / 3));

/** Returns the number of requests that the page made without a click in the last minute. */
function ownAsked(): number {
  const now = performance.now();
  while (asked[0] !== undefined && now - asked[0] > MINUTE_MS) asked.shift();
  return asked.length;
}

/** Counts a request that the page makes without a click. */
export const countOwn = (): unknown => asked.push(performance.now());

/** Reports whether the page may make a request without a click, and counts that request. */
export function mayAskByItself(): boolean {
  if (ownAsked() >= ownPerMinute() || isScarce()) return false;
  countOwn();
  return true;
}

/**
 * Reports whether the page may make further requests for what is beside the view. It may not if requests are scarce, or
 * if the page has already made half of the requests that need no click.
 */
export const hasSpare = (): boolean => ownAsked() < ownPerMinute() / 2 && !isScarce();

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
  notePolicy(headers);
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
  notePolicy(headers);
  const waitMs = 1000 * Math.max(1, Number(headers.get('Retry-After') ?? 1));
  limitedUntil = Math.max(limitedUntil, performance.now() + waitMs);
  clock ??= setInterval(countDown, 1000);
  countDown();
}

function notePolicy(headers: Headers): void {
  const [, quota] = /q=(\d+)/.exec(headers.get('RateLimit-Policy') ?? '') ?? [];
  perMinute = quota === undefined ? undefined : Number(quota);
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

/** Resolves once requests are possible again; at once unless the limit is reached. Reports whether it was. */
export async function untilAllowed(): Promise<boolean> {
  const isLimited = clock !== undefined;
  if (isLimited) await new Promise<void>((resolve) => waiting.push(resolve));
  return isLimited;
}
