import type { MetricWriter } from '../../../core/http/metrics/handlers.ts';
import type { HubMachine } from '../../../core/model/status.ts';
import type { Counters } from '../../../core/runtime/counters.ts';
import type { HttpStreams } from '../../../core/streams/http-streams.ts';
import type { WebSocketClients } from '../../../core/streams/web-socket-clients.ts';
import type { HubStatus } from './hub-status.ts';
import type { HubWebhooks } from './hub-webhooks.ts';
import type { Macs } from './macs.ts';
import type { StreamTail } from './stream-tail.ts';

interface HubMetricsParts {
  readonly status: HubStatus;
  readonly tail: StreamTail;
  readonly macs: Macs;
  readonly webhooks: HubWebhooks;
  readonly webSockets: WebSocketClients;
  readonly streams: HttpStreams;
  readonly counters: Counters;
}

/** Returns a function that writes the metrics of a hub and of its Macs. */
export function hubMetrics(parts: HubMetricsParts): (to: MetricWriter) => void {
  const { status, tail, macs, webhooks, webSockets, streams, counters } = parts;
  return (to) => {
    const held = webhooks.list().filter((one) => one.enabled && one.held !== null).length;
    const { bytes = Number.NaN, messages = Number.NaN } = tail.info?.state ?? {};
    to.gauge('postern_up', 'Whether the events of the fleet can be read.', status.health().connected ? 1 : 0);
    to.gauge('postern_hub_ready', 'Whether the hub can serve.', status.notReady().length === 0 ? 1 : 0);
    to.gauge('postern_hub_stream_bytes', 'Size of the event stream on the broker.', bytes);
    to.gauge('postern_hub_stream_events', 'Events in the stream.', messages);
    to.gauge('postern_hub_rejected_events', 'Messages in the stream that were no readable events.', tail.rejected);
    to.gauge('postern_websocket_clients', 'WebSocket clients connected now.', webSockets.counts.clients);
    to.gauge('postern_stream_clients', 'Clients that stream events over plain HTTP now.', streams.counts.clients);
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
  };
}
