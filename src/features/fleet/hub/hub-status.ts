import type { BackendHealth } from '../../../core/model/ports/reading-ports.ts';
import { droppedWarnings, type StatusReport } from '../../../core/model/status.ts';
import type { FleetParts } from '../protocol/connection.ts';
import type { HubWebhooks } from './hub-webhooks.ts';
import type { Macs } from './macs.ts';
import { placeText } from './place.ts';
import type { StreamTail } from './stream-tail.ts';

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

  async report(): Promise<StatusReport> {
    const { tail, macs, clock, version, operations, webhooks } = this.#parts;
    const { last } = tail.channel;
    const summaries = await webhooks.summaries();
    const warnings = droppedWarnings(summaries);
    const place = tail.isFilled && 'stream' in last ? { offset: placeText(tail.last) } : {};
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
