import type { Core } from './core.ts';
import type { MetricWriter } from './http/metrics/handlers.ts';

/** Returns a function that writes the metrics of the core, and those of its features. */
export function metricsOf(core: Core): (to: MetricWriter) => void {
  const { connection, status, feed, webSockets, streams, channel, messagesAccounts, ages, webhooks, counters } = core;
  return (to) => {
    to.gauge('postern_up', 'Whether chat.db can be read.', connection.health().connected ? 1 : 0);
    to.gauge('postern_newest_row_id', 'Highest row id in chat.db.', status.newestRow());
    to.gauge('postern_newest_event_row_id', 'Row id of the newest published event.', feed.lastPublished().rowId);
    to.gauge('postern_websocket_clients', 'WebSocket clients connected now.', webSockets.counts.clients);
    to.gauge('postern_stream_clients', 'Clients that stream events over plain HTTP now.', streams.counts.clients);
    to.total('postern_events_published_total', 'Events published since the start.', channel.published);
    to.total(
      'postern_websocket_events_missed_total',
      'Events that WebSocket clients missed because they read too slowly.',
      webSockets.counts.missed,
    );
    to.total(
      'postern_stream_events_missed_total',
      'Events that stream clients missed because they read too slowly.',
      streams.counts.missed,
    );
    const account = messagesAccounts.status();
    const isSignedIn = account === undefined ? null : Number(account.state === 'imessage');
    to.gauge('postern_imessage_signed_in', 'Whether Messages has an enabled iMessage account.', isSignedIn);
    const { median_s: medianS = null, max_s: maxS = null } = ages.delays.status() ?? {};
    to.gauge('postern_arrival_delay_median_seconds', 'Median delay of the last 20 incoming iMessages.', medianS);
    to.gauge('postern_arrival_delay_max_seconds', 'Longest delay of the last 20 incoming iMessages.', maxS);
    for (const one of core.running.values()) one.metrics?.(to.gauge);
    const retrying = webhooks.list().filter((one) => one.enabled && one.held !== null).length;
    to.gauge('postern_webhooks_held', 'Webhooks that hold a delivery until it succeeds.', retrying);
    to.totals('postern_webhook_deliveries_total', 'Webhook deliveries by outcome.', counters.deliveries);
    to.totals('postern_sends_total', 'Sends by outcome.', counters.sends);
    to.totals(
      'postern_undecoded_total',
      'Blobs in chat.db that could not be decoded, by column. Each read with details counts a blob again.',
      counters.undecoded,
    );
    to.totals('postern_http_requests_total', 'Requests by method, path pattern and status.', counters.requests);
  };
}
