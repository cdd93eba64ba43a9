import type { ClientContext } from '../../core/cli/client-context.ts';
import { SERVICE_COMMANDS, secondsUpTo } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import type { ReportCommandOptions } from './cli/report-command.ts';

/** Finds what keeps the service from working, and collects facts for a bug report. */
export const doctor = feature({
  name: 'doctor',
  routes: { runDiagnostics: { method: 'POST', path: '/diagnostics', key: 'header', access: 'owner' } },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  commands(program) {
    program
      .command('doctor')
      .helpGroup(SERVICE_COMMANDS)
      .description('Check everything that could keep the service from working; exits with 1 if there is a problem.')
      .option('--json', 'as JSON')
      .option('--demo', 'the service of postern demo')
      .option('--prompt', 'let macOS ask you for missing permissions')
      .option('--mac-report', 'print one JSON document for a bug report, with names, addresses, keys and texts masked')
      .option(
        '--send-to-me [address]',
        'like --mac-report, but first send a text and a picture to your own address, and report on them',
      )
      .option(
        '--watch <seconds>',
        'how long --mac-report and --send-to-me watch the messages database',
        secondsUpTo(120),
      )
      .examples(
        'postern doctor',
        'postern doctor --json | jq \'.findings[] | select(.state == "problem")\'',
        'postern doctor --mac-report > report.json',
        'postern doctor --mac-report --send-to-me',
      )
      .runs(async () => async (options: ReportCommandOptions, context: ClientContext) => {
        const isReport = options.macReport === true || options.sendToMe !== undefined;
        return isReport
          ? (await import('./cli/report-command.ts')).reportCommand(options, context)
          : (await import('./cli/doctor-command.ts')).doctorCommand(options, context);
      });
    program
      .command('check-database', { hidden: true })
      .description('Check the database of Messages at this path, for postern doctor.')
      .argument('<path>', 'the path of chat.db')
      .examples('postern check-database ~/Library/Messages/chat.db')
      .runs(async () => (await import('./cli/database-check.ts')).checkDatabaseCommand);
  },
  open: async (core) => (await import('./open.ts')).openDiagnostics(core),
});
