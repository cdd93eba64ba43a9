import { feature } from '../../core/feature.ts';

/** Counts events, sends and deliveries, and collects what the console's home page shows. */
export const overview = feature({
  name: 'overview',
  // Counts what each key did, and lists the sends that wait.
  needs: ['access'],
  tables: `
  CREATE TABLE statistic (
    kind TEXT NOT NULL,
    span TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (kind, span, at_ms, subject, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX statistic_by_age ON statistic (span, at_ms);
  CREATE TABLE statistic_time (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    since_ms INTEGER NOT NULL,
    events_ms INTEGER
  ) STRICT;`,
  routes: {
    getOverview: { method: 'GET', path: '/overview', key: 'header', access: 'owner' },
    getStatistics: { method: 'GET', path: '/stats/{kind}', key: 'header', access: 'owner' },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  statusPage: async () => (await import('./shown.ts')).shownCounters,
  open: async (core) => (await import('./open.ts')).openOverview(core),
});
