// A webhook's state in words, and its deliveries as one tick per hour.

import { counted, number, spanOf } from '../../service/words.ts';

/** @import { Webhook, WebhookStatus } from '../../../../core/model/webhook.ts' */

/** @typedef {Webhook & WebhookStatus & { readonly next_attempt_at?: string | null }} ShownWebhook */
/** @typedef {{ readonly at: string, readonly counts: Readonly<Record<string, number>> }} Point */
/** @typedef {{ readonly points: readonly Point[], readonly median_ms?: number | null, readonly p95_ms?: number | null }} Hours */

/** @type {Readonly<Record<string, readonly ['good' | 'warn' | 'bad' | 'off', string]>>} */
export const STATES = {
  healthy: ['good', 'Delivers'],
  failing: ['bad', 'Failing'],
  held: ['warn', 'Holding'],
  paused: ['off', 'Paused'],
};

/** Masks the password in a URL. The API's list contains it, but no screen should show it. @param {string} address */
export function withoutPassword(address) {
  const url = new URL(address);
  if (url.password === '') return address;
  url.password = '***';
  return url.href;
}

/** @param {{ readonly name?: string | null, readonly url: string }} webhook */
export const nameOfWebhook = ({ name, url }) => name ?? new URL(url).host;

/** @param {string} url */
export const shortAddress = (url) => withoutPassword(url).replace(/^https?:\/\//, '');

/**
 * Describes what is wrong with a webhook, since when, and what happens to its events. Returns undefined if nothing is
 * wrong.
 * @param {ShownWebhook} webhook
 * @param {string | null | undefined} lastError
 */
export function troubleOf(
  { state, held, dropped, behind, consecutive_failures: failures, last_success_at: success },
  lastError,
) {
  if (state === 'held' && held !== null) {
    return {
      what: held.error,
      since: held.since,
      next: `${counted(Math.max(1, behind), 'event')} ${behind > 1 ? 'wait and are' : 'waits and is'} kept. Postern tries again until it succeeds (${counted(held.attempts, 'attempt')} so far).`,
    };
  }
  if (state === 'paused' && held?.gone === true) {
    return {
      what: `${held.error} It wants no more events, so the webhook is paused.`,
      since: held.since,
      next: `${counted(Math.max(1, behind), 'event')} ${behind > 1 ? 'are' : 'is'} kept. Resume to deliver again, or remove the webhook.`,
    };
  }
  if (state !== 'failing') return undefined;
  const lost =
    dropped > 0
      ? `${counted(dropped, 'event')} ${dropped === 1 ? 'was' : 'were'} dropped, and can be delivered again.`
      : '';
  return {
    what: lastError ?? `${counted(failures, 'delivery', 'deliveries')} failed in a row.`,
    since: success,
    next: lost,
  };
}

/** @param {Point} point */
const total = ({ counts }) =>
  (counts.delivered ?? 0) + (counts.retried ?? 0) + (counts.dropped ?? 0) + (counts.failed ?? 0);

/**
 * Returns one tick for each hour: `none` without deliveries, `bad` if events were dropped, `warn` if any attempt
 * failed, otherwise `good`.
 * @param {Hours} hours
 */
export const ticksOf = ({ points }) =>
  points.map((point) =>
    total(point) === 0
      ? /** @type {const} */ ('none')
      : (point.counts.dropped ?? 0) > 0
        ? /** @type {const} */ ('bad')
        : (point.counts.retried ?? 0) + (point.counts.failed ?? 0) > 0
          ? /** @type {const} */ ('warn')
          : /** @type {const} */ ('good'),
  );

/**
 * Returns the share of finished deliveries that arrived, for example "99.2 %"; undefined if no delivery has finished.
 * Failed attempts do not count, because they are tried again.
 * @param {Hours} hours
 */
export function shareOf({ points }) {
  const done = points.reduce((sum, { counts }) => sum + (counts.delivered ?? 0) + (counts.retried ?? 0), 0);
  const all = points.reduce((sum, { counts }) => sum + (counts.dropped ?? 0), done);
  if (all === 0) return undefined;
  const share = (done / all) * 100;
  return share === 100 || share === 0 ? `${share} %` : `${Math.min(99.9, Math.max(0.1, share)).toFixed(1)} %`;
}

/** @param {number | null | undefined} ms */
export const responseOf = (ms) => (ms === null || ms === undefined ? undefined : `${number(Math.round(ms))} ms`);

/** @param {string | null | undefined} at */
export const whenOf = (at) => (at ? `${spanOf((Date.now() - Date.parse(at)) / 1000)} ago` : 'never');
