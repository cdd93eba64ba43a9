// All clients share the service's limit, so the page makes few requests on its own.

const OWN_PER_MINUTE = 20;
/** If fewer requests are left in the minute, the page requests only what the user clicks. */
const RESERVE = 15;
const MINUTE_MS = 60_000;

/** @type {number[]} */
const asked = [];
let left = Number.POSITIVE_INFINITY;
let leftUntil = 0;

/** Reports whether the page may make a request that nobody clicked, and counts that request. */
export function mayAskByItself() {
  const now = performance.now();
  while (asked[0] !== undefined && now - asked[0] > MINUTE_MS) asked.shift();
  if (asked.length >= OWN_PER_MINUTE || isScarce()) return false;
  asked.push(now);
  return true;
}

/**
 * Reports whether more than half of the page's own requests are left. Only then does the details pane load its
 * pictures.
 */
export const hasSpare = () => asked.length < OWN_PER_MINUTE / 2 && !isScarce();

/** Reports whether so few requests are left that the page must wait. */
export const isScarce = () => performance.now() < leftUntil && left < RESERVE;

/**
 * Reads how many requests are left (`RateLimit: "default";r=42;t=17`).
 * @param {Headers} headers
 */
export function noteLimit(headers) {
  const [, remaining, seconds] = /r=(\d+);t=(\d+)/.exec(headers.get('RateLimit') ?? '') ?? [];
  if (remaining === undefined) return;
  left = Number(remaining);
  leftUntil = performance.now() + Number(seconds) * 1000;
  const note = document.getElementById('limit-note');
  if (note === null) return;
  note.hidden = !isScarce();
  if (isScarce()) setTimeout(() => (note.hidden = !isScarce()), Number(seconds) * 1000 + 50);
}
