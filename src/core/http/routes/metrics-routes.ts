import type { Metrics } from '../../model/ports/metrics-ports.ts';
import type { Counters, LabelledCount } from '../../runtime/counters.ts';
import type { Handlers } from '../router.ts';

/** Returns the handler for Prometheus metrics (decision H). Loads prom-client at the first request. */
export function metricRoutes(metrics: () => Metrics, counters: Counters) {
  return {
    async getMetrics() {
      const { Counter, Gauge, Registry } = (await import('prom-client')).default;
      const registry = new Registry();
      const registers = [registry];
      const now = metrics();
      const gauge = (name: string, help: string, value: number | null): void => {
        if (value !== null) new Gauge({ name, help, registers }).set(value);
      };
      const total = (name: string, help: string, value: number): void => {
        new Counter({ name, help, registers }).inc(value);
      };
      const totals = <Label extends string>(name: string, help: string, count: LabelledCount<Label>): void => {
        const counter = new Counter({ name, help, labelNames: count.labelNames, registers });
        for (const { labels, value } of count.counts()) counter.inc(labels, value);
      };
      gauge('postern_up', 'Whether chat.db can be read.', now.isConnected ? 1 : 0);
      gauge('postern_newest_row_id', 'Highest row id in chat.db.', now.newestRow);
      gauge('postern_newest_event_row_id', 'Row id of the newest published event.', now.newestEvent);
      gauge('postern_websocket_clients', 'WebSocket clients connected now.', now.webSockets.clients);
      gauge('postern_stream_clients', 'Clients that stream events over plain HTTP now.', now.streams.clients);
      total('postern_events_published_total', 'Events published since the start.', now.published);
      total(
        'postern_websocket_events_missed_total',
        'Events that WebSocket clients missed because they read too slowly.',
        now.webSockets.missed,
      );
      total(
        'postern_stream_events_missed_total',
        'Events that stream clients missed because they read too slowly.',
        now.streams.missed,
      );
      if (now.messagesAccount !== undefined) {
        const isSignedIn = now.messagesAccount.state === 'imessage' ? 1 : 0;
        gauge('postern_imessage_signed_in', 'Whether Messages has an enabled iMessage account.', isSignedIn);
      }
      if (now.arrivalDelay !== undefined) {
        const { median_s: medianS, max_s: maxS } = now.arrivalDelay;
        gauge('postern_arrival_delay_median_seconds', 'Median delay of the last 20 incoming iMessages.', medianS);
        gauge('postern_arrival_delay_max_seconds', 'Longest delay of the last 20 incoming iMessages.', maxS);
      }
      now.ofFeatures?.(gauge);
      gauge('postern_webhooks_held', 'Webhooks that hold a delivery until it succeeds.', now.heldWebhooks);
      totals('postern_webhook_deliveries_total', 'Webhook deliveries by outcome.', counters.deliveries);
      totals('postern_sends_total', 'Sends by outcome.', counters.sends);
      totals(
        'postern_undecoded_total',
        'Blobs in chat.db that could not be decoded, by column. Each read with details counts a blob again.',
        counters.undecoded,
      );
      totals('postern_http_requests_total', 'Requests by method, path pattern and status.', counters.requests);
      return { status: 200, content: { type: registry.contentType, text: await registry.metrics() } };
    },
  } satisfies Partial<Handlers>;
}
