import { nonEmpty, SERVICE_COMMANDS } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';

/** Writes the configuration and the state to one file, and restores them. Each feature says what must not survive. */
export const backup = feature({
  name: 'backup',
  commands(program) {
    program
      .command('backup')
      .helpGroup(SERVICE_COMMANDS)
      .description('Write the configuration and the state to one file. The service may keep running.')
      .argument('<file>', 'the file to write', nonEmpty)
      .option('--force', 'replace the file if it exists')
      .option('--demo', 'the configuration of postern demo')
      .examples('postern backup ~/postern.backup')
      .runs(async () => (await import('./backup-command.ts')).backupCommand);
    program
      .command('restore')
      .helpGroup(SERVICE_COMMANDS)
      .description('Replace the configuration and the state with those of a backup. The service must be stopped.')
      .argument('<file>', 'a file that postern backup wrote', nonEmpty)
      .option('--force', 'replace an existing configuration and state')
      .option('--demo', 'the configuration of postern demo')
      .examples('postern restore ~/postern.backup')
      .runs(async () => (await import('./restore-command.ts')).restore);
  },
});
