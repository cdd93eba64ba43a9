import { feature } from '../../core/feature.ts';

/** Connects this Mac with others over NATS. Its code is still in src/features/fleet; this is only its place in the list. */
export const fleet = feature({
  name: 'fleet',
  async findings({ config: { fleet: settings }, isUp, status }) {
    const member = status?.fleet?.mac ?? settings?.mac ?? '';
    if (settings === undefined || member === '') return [];
    const { fleetFindings } = await import('../../core/doctor/fleet-findings.ts');
    return fleetFindings(settings, { mac: member }, { connects: !isUp });
  },
  async open({ config, host, state, connection, idempotency, feed, owner, json, counters, chatLog, status, onHealth }) {
    const { fleet: settings } = config;
    if (settings === undefined) return undefined;
    const { openFleet } = await import('./agent.ts');
    const agent = openFleet({
      settings,
      host,
      state,
      connection,
      idempotency,
      feed,
      owner,
      json,
      counters,
      messages: chatLog,
      health: () => status.health(),
    });
    onHealth(() => agent.noteHealth());
    return {
      start: () => agent.start(),
      close: () => agent.close(),
      status: () => agent.report(),
      warning: () => agent.warning(),
      metrics(gauge) {
        const { state: now, published_row: row, behind } = agent.report();
        gauge('postern_fleet_connected', 'Whether events are published to the fleet.', now === 'connected' ? 1 : 0);
        gauge('postern_fleet_published_row_id', 'Row id of the newest event that the fleet has acknowledged.', row);
        gauge('postern_fleet_behind', 'Maximum number of rows that the fleet does not have yet.', behind);
      },
    };
  },
});
