import type { MetricWriter } from '../../../core/http/metrics/handlers.ts';
import type { BackendHealth } from '../../../core/model/ports/reading-ports.ts';
import { droppedWarnings, type HubMachine, type StatusReport } from '../../../core/model/status.ts';
import type { Counters } from '../../../core/runtime/counters.ts';
import type { HttpStreams } from '../../../core/streams/http-streams.ts';
import type { WebSocketClients } from '../../../core/streams/web-socket-clients.ts';
import type { FleetParts } from '../protocol/connection.ts';
import type { HubWebhooks } from './hub-webhooks.ts';
import type { Macs } from './macs.ts';
import { placeText } from './place.ts';
import type { StreamTail } from './stream-tail.ts';

export interface HubStatusParts extends Pick<FleetParts, 'connection' | 'clock'> {
  readonly tail: StreamTail;
  readonly macs: Macs;
  readonly counters: Counters;
  readonly version: string;
  /** The operations that this hub has. */
  readonly operations: readonly string[];
  readonly webhooks: HubWebhooks;
  readonly webSockets: WebSocketClients;
  readonly streams: HttpStreams;
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

  writeMetrics(to: MetricWriter): void {
    const { tail, macs, counters, webhooks, webSockets, streams } = this.#parts;
    const missed = webSockets.counts.missed + streams.counts.missed;
    const held = webhooks.list().filter((one) => one.enabled && one.held !== null).length;
    const { bytes = Number.NaN, messages = Number.NaN } = tail.info?.state ?? {};
    to.gauge('postern_up', 'Whether the events of the fleet can be read.', this.health().connected ? 1 : 0);
    to.gauge('postern_hub_ready', 'Whether the hub can serve.', this.notReady().length === 0 ? 1 : 0);
    to.gauge('postern_hub_stream_bytes', 'Size of the event stream on the broker.', bytes);
    to.gauge('postern_hub_stream_events', 'Events in the stream.', messages);
    to.gauge('postern_hub_rejected_events', 'Messages in the stream that were no readable events.', tail.rejected);
    to.gauge('postern_websocket_clients', 'WebSocket clients connected now.', webSockets.counts.clients);
    to.gauge('postern_stream_clients', 'Clients that stream events over plain HTTP now.', streams.counts.clients);
    to.gauge('postern_events_missed', 'Events that clients missed because they read too slowly.', missed);
    to.gauge('postern_webhooks_held', 'Webhooks that hold a delivery until it succeeds.', held);
    const ofMac = (name: string, help: string, value: (machine: HubMachine) => number): void => {
      const counts = macs
        .list()
        .flatMap(({ id: mac, machines }) =>
          machines.map((one) => ({ labels: { mac, machine: one.machine }, value: value(one) })),
        );
      to.gauges(name, help, { labelNames: ['mac', 'machine'], counts: () => counts });
    };
    ofMac('postern_mac_up', '0 while the machine is away, otherwise 1.', (one) => Number(one.state === 'present'));
    ofMac('postern_mac_behind_rows', 'Rows that the stream does not have yet, at most.', (one) => one.behind);
    const late = 'Rows that were too old for the stream.';
    ofMac('postern_mac_rows_without_event', late, (one) => one.rows_without_event);
    to.totals('postern_webhook_deliveries_total', 'Webhook deliveries by outcome.', counters.deliveries);
    to.totals('postern_http_requests_total', 'Requests by method, path pattern and status.', counters.requests);
  }
}
