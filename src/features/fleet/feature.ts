import { type ProgramCommand, servesUntilStopped } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import type { StatusReport } from '../../core/model/status.ts';
import type { FleetReport } from './agent/agent.ts';
import { FLEET_SETTINGS } from './settings.ts';
import { declareFleetCommands } from './setup/commands.ts';

/** Connects this Mac with others over NATS. */
export const fleet = feature({
  name: 'fleet',
  settings: FLEET_SETTINGS,
  tables: `
  CREATE TABLE fleet_agent (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    own TEXT NOT NULL,
    member TEXT,
    machine TEXT,
    since_ms INTEGER,
    created TEXT,
    subject TEXT,
    sequence INTEGER NOT NULL DEFAULT 0,
    late INTEGER NOT NULL DEFAULT 0
  ) STRICT;`,
  commands(program) {
    declareHubCommand(program);
    declareFleetCommands(program);
  },
  shown: async () => (await import('./shown.ts')).shownFleet,
  check: ({ changes, file }, config) =>
    changes && file !== '' && config.features.changes?.enabled === false
      ? {
          mistakes: [
            'fleet.changes needs change detection, but changes.enabled is false. Set changes.enabled to "auto", or fleet.changes to false.',
          ],
        }
      : {},
  document: async () => ({ operations: {}, status: (await import('./document.ts')).fleetSchema }),
  async findings({ config, isUp, status }) {
    const { file } = config.features.fleet ?? {};
    if (typeof file !== 'string' || file === '') return [];
    const { fleetFindings } = await import('./findings.ts');
    const { fleet: report, backend } = (status ?? {}) as Partial<StatusReport> & { readonly fleet?: FleetReport };
    return fleetFindings(file, { isUp, report, backend, dir: config.dir });
  },
  async open(core, values) {
    if (values.file === '') return undefined;
    return (await import('./agent/agent.ts')).openAgent(core, values);
  },
});

/** The command that runs a hub. */
function declareHubCommand(program: ProgramCommand): void {
  servesUntilStopped(program.command('hub'))
    .description(
      'Run a hub: one gateway for the many Macs of a fleet. Any machine can run one, and a fleet can have several.',
    )
    .option('--supervised', 'for supervisors that restart the hub')
    .examples('postern hub --config-dir ~/hub')
    .runs(async () => (await import('./hub/hub-command.ts')).runHub);
}
