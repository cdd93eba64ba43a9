// A webhook's state in words, and its deliveries as one tick per hour.

import type { StatisticPoint, SubjectSeries } from '../../../../client/overview-types.ts';
import { counted, number, spanOf } from '../../../../core/model/figures.ts';
import { type Webhook, type WebhookStatus, withoutPassword } from '../../../../core/model/webhook.ts';
import type { Tick } from '../../parts/charts.tsx';
import type { Mark } from '../../parts/parts.tsx';

export type ShownWebhook = Webhook & WebhookStatus & { readonly next_attempt_at?: string | null };

const STATES: Readonly<Record<WebhookStatus['state'], readonly [mark: Mark, word: string]>> = {
  healthy: ['good', 'Delivers'],
  failing: ['bad', 'Failing'],
  held: ['warn', 'Holding'],
  paused: ['off', 'Paused'],
};

/** Returns a webhook's state as a mark and a word. Nothing proves that one without a delivery works. */
export const stateOf = ({
  state,
  last_success_at: success,
}: Pick<WebhookStatus, 'state' | 'last_success_at'>): readonly [mark: Mark, word: string] =>
  state === 'healthy' && success === null ? ['off', 'No delivery yet'] : STATES[state];

/** Masks the password in a URL. The API's list contains it, but no screen should show it. */
export const shownAddress = (url: string): string => withoutPassword({ url });

export const nameOfWebhook = ({ name, url }: Pick<ShownWebhook, 'name' | 'url'>): string => name ?? new URL(url).host;

export const hashOf = (id: string): string => `#/webhooks/${encodeURIComponent(id)}`;

export const shortAddress = (url: string): string => shownAddress(url).replace(/^https?:\/\//, '');

/** The problem of a webhook: the reason, since when, and the fate of its events. */
export interface Trouble {
  readonly what: string;
  readonly since: string | null;
  readonly next: string;
}

/** Returns undefined if nothing is wrong. */
export function troubleOf(webhook: ShownWebhook, lastError: string | null | undefined): Trouble | undefined {
  const { state, held, dropped, behind, consecutive_failures: failures } = webhook;
  const kept = `${counted(Math.max(1, behind), 'event')} ${behind > 1 ? 'are' : 'is'} kept.`;
  if (state === 'held' && held !== null) {
    return {
      what: held.error,
      since: held.since,
      next: `${kept} Postern tries again until it succeeds (${counted(held.attempts, 'attempt')} so far).`,
    };
  }
  if (state === 'paused' && held?.gone === true) {
    return {
      what: `${held.error} It wants no more events, so the webhook is paused.`,
      since: held.since,
      next: `${kept} Resume to deliver again, or remove the webhook.`,
    };
  }
  if (state !== 'failing') return undefined;
  const lost =
    dropped > 0
      ? `${counted(dropped, 'event')} ${dropped === 1 ? 'was' : 'were'} dropped, and can be delivered again.`
      : '';
  return {
    what: lastError ?? `${counted(failures, 'delivery', 'deliveries')} failed in a row.`,
    // The last success can be long before the first failure.
    since: null,
    next: lost,
  };
}

/** Returns one tick for each hour: `bad` if events were dropped, `warn` if any attempt failed. */
export const ticksOf = ({ points }: SubjectSeries): readonly Tick[] => points.map(tickOf);

function tickOf({ counts: { delivered = 0, retried = 0, dropped = 0, failed = 0 } }: StatisticPoint): Tick {
  if (delivered + retried + dropped + failed === 0) return 'none';
  if (dropped > 0) return 'bad';
  return retried + failed > 0 ? 'warn' : 'good';
}

/**
 * Returns the share of finished deliveries that arrived, for example "99.2 %"; undefined if no delivery has finished.
 * Failed attempts do not count, because they are tried again.
 */
export function shareOf({ points }: SubjectSeries): string | undefined {
  const done = points.reduce((sum, { counts }) => sum + (counts.delivered ?? 0) + (counts.retried ?? 0), 0);
  const all = points.reduce((sum, { counts }) => sum + (counts.dropped ?? 0), done);
  if (all === 0) return undefined;
  const share = (done / all) * 100;
  return share === 100 || share === 0 ? `${share} %` : `${Math.min(99.9, Math.max(0.1, share)).toFixed(1)} %`;
}

/** Describes the ticks of 24 hours. */
export function ticksTitle(share: string | undefined): string {
  return share === undefined ? 'No deliveries in 24 hours' : `${share} delivered in 24 hours`;
}

export const responseOf = (ms: number | null | undefined): string | undefined =>
  ms === null || ms === undefined ? undefined : `${number(Math.round(ms))} ms`;

export const whenOf = (at: string | null | undefined): string =>
  at ? `${spanOf((Date.now() - Date.parse(at)) / 1000)} ago` : 'never';
