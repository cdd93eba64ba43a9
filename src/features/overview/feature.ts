import { feature } from '../../core/feature.ts';
import { OVERVIEW_TABLES } from './tables.ts';

/** Counts events, sends and deliveries, and collects what the console's home page shows. */
export const overview = feature({
  name: 'overview',
  // Counts what each key did, and lists the sends that wait.
  needs: ['access'],
  tables: OVERVIEW_TABLES,
  routes: {
    getOverview: { method: 'GET', path: '/overview', key: 'header', access: 'owner' },
    getStatistics: { method: 'GET', path: '/stats/{kind}', key: 'header', access: 'owner' },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  statusPage: async () => (await import('./shown.ts')).shownCounters,
  async open(core) {
    const { openOverview } = await import('./open.ts');
    return openOverview(core);
  },
});
