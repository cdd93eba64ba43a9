import { feature } from '../../core/feature.ts';
import { MIGRATIONS } from './migrations.ts';
import { FLEET_SETTINGS } from './settings.ts';

/** Connects this Mac with others over NATS. */
export const fleet = feature({
  name: 'fleet',
  settings: FLEET_SETTINGS,
  migrations: MIGRATIONS,
  document: async () => ({ operations: {}, status: (await import('./document.ts')).fleetSchema }),
  async findings({ config, isUp }) {
    const { file } = config.features['fleet'] ?? {};
    if (typeof file !== 'string' || file === '') return [];
    const { fleetFindings } = await import('./findings.ts');
    return fleetFindings(file, { connects: !isUp });
  },
  async open(core, values) {
    if (values.file === '') return undefined;
    const { FleetAgent } = await import('./agent/agent.ts');
    return FleetAgent.open(core, values);
  },
});
