import type { BackendHealth } from '../../../core/model/ports/reading-ports.ts';
import { droppedWarnings, type StatusReport } from '../../../core/model/status.ts';
import type { FleetParts } from '../protocol/connection.ts';
import type { HubWebhooks } from './hub-webhooks.ts';
import type { Macs } from './macs.ts';
import { placeOf, placeText } from './place.ts';
import type { StreamTail } from './stream-tail.ts';

/** Number of events that a page which shows the newest ones begins with. */
const EARLIER = 100;

export interface HubStatusParts extends Pick<FleetParts, 'connection' | 'clock'> {
  readonly tail: StreamTail;
  readonly macs: Macs;
  readonly version: string;
  /** The operations that this hub has. */
  readonly operations: readonly string[];
  readonly webhooks: HubWebhooks;
}

/** The report of a hub on itself and its Macs. */
export class HubStatus {
  readonly #parts: HubStatusParts;
  readonly #startedMs: number;

  constructor(parts: HubStatusParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.monotonic();
  }

  /** Why a balancer should ask another hub; empty if it need not. */
  notReady(): readonly string[] {
    const { connection, tail } = this.#parts;
    if (!connection.isConnected) return ['broker_away'];
    if (!tail.isFilled) return ['hub_filling'];
    const behind = (tail.info?.state.last_seq ?? 0) > tail.channel.last.rowId + 1000;
    return [...(behind ? ['hub_behind'] : []), ...(tail.isKeyWrong ? ['hub_key_wrong'] : [])];
  }

  health(): BackendHealth {
    const { tail, macs } = this.#parts;
    const { trouble } = tail;
    if (trouble !== undefined) return { connected: false, message: `The fleet cannot be reached: ${trouble}.` };
    if (!tail.isFilled) return { connected: false, message: 'The hub has just started and is reading the stream.' };
    if (tail.isKeyWrong) {
      return { connected: false, message: 'No newest event of a Mac can be opened with the keys of this hub.' };
    }
    const away = macs.list().filter(({ state }) => state === 'away');
    const message = away.length === 0 ? null : `Away: ${away.map(({ id }) => id).join(', ')}.`;
    return { connected: true, message };
  }

  /** Returns an offset `EARLIER` events before the end; {} if none of those can be opened. */
  #earlier(): { readonly earlier?: string } {
    const { channel, last } = this.#parts.tail;
    const rowId = last.rowId - EARLIER;
    const place = rowId <= channel.base.rowId ? channel.base : channel.after({ rowId, change: 0 }, 1)?.[0]?.offset;
    return place === undefined ? {} : { earlier: placeText(placeOf(place)) };
  }

  async report(): Promise<StatusReport> {
    const { connection, tail, macs, clock, version, operations, webhooks } = this.#parts;
    const { last } = tail.channel;
    // Their counts are at the broker. Without it, the report still says why.
    const summaries = await webhooks.summaries().catch(() => []);
    const warnings = droppedWarnings(summaries);
    const isKnown = connection.isConnected && tail.isFilled && 'stream' in last;
    const place = isKnown ? { offset: placeText(tail.last), ...this.#earlier() } : {};
    return {
      version,
      uptime_s: Math.floor((clock.monotonic() - this.#startedMs) / 1000),
      backend: this.health(),
      newest_row: null,
      newest_event: { row_id: 0, age_s: null, ...place },
      operations,
      macs: macs.list(),
      webhooks: summaries,
      ...(warnings.length > 0 && { warnings }),
      permissions: [],
    };
  }
}
