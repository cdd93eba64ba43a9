import type { Metrics } from '../../domain/ports/metrics.ts';
import type { Counters } from '../../runtime/counters.ts';
import type { Handlers } from '../route.ts';

/** Numbers for Prometheus (section H). prom-client is loaded when somebody asks: most never do. */
export function metricRoutes(metrics: () => Metrics, counters: Counters): Pick<Handlers, 'getMetrics'> {
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
      const totals = (
        name: string,
        help: string,
        labelNames: readonly string[],
        counts: ReadonlyMap<string, number>,
      ) => {
        const counter = new Counter({ name, help, labelNames, registers });
        for (const [label, count] of counts) {
          const values = label.split(' ');
          counter.inc(Object.fromEntries(labelNames.map((labelName, at) => [labelName, values[at] ?? ''])), count);
        }
      };
      gauge('postern_up', 'Whether chat.db can be read.', now.isConnected ? 1 : 0);
      gauge('postern_newest_row_id', 'Highest row id in chat.db.', now.newestRow);
      gauge('postern_newest_event_row_id', 'Row id of the newest published event.', now.newestEvent);
      gauge('postern_websocket_clients', 'WebSocket clients connected now.', now.clients);
      total('postern_events_published_total', 'Events published since the start.', now.published);
      total('postern_websocket_events_missed_total', 'Events that slow WebSocket clients lost.', now.missed);
      totals(
        'postern_webhook_deliveries_total',
        'Webhook deliveries by what became of them.',
        ['outcome'],
        counters.read('deliveries'),
      );
      totals('postern_sends_total', 'Sends by what became of them.', ['outcome'], counters.read('sends'));
      totals(
        'postern_http_requests_total',
        'Requests by method, path pattern and status.',
        ['method', 'route', 'status'],
        counters.read('requests'),
      );
      return { status: 200, content: { type: registry.contentType, text: await registry.metrics() } };
    },
  };
}
