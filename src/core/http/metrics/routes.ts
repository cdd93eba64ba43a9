import { resource } from '../resource.ts';
import type { MetricParts } from './handlers.ts';

/** Metrics for Prometheus. */
export const metricResource = resource({
  name: 'metrics',
  routes: { getMetrics: { method: 'GET', path: '/metrics', key: 'header', access: 'owner', isOutside: true } },
  handlers: async (parts: MetricParts) => (await import('./handlers.ts')).metricHandlers(parts),
  document: async () => (await import('./document.ts')).DOCUMENT,
});
