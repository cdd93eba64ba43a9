import { Argument, type Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import type { ClientContext, Context } from './context.ts';
import { count, helpExamples, type Runs, secondsUpTo, servesUntilStopped } from './declaration.ts';
import { EXIT_CODE_HELP } from './exit-codes.ts';

/** The commands that run a service, and those that maintain the installation on this machine. */
export function declareHostCommands(program: Command, runs: Runs): void {
  servesUntilStopped(program.command('serve', { isDefault: true }))
    .description('Run the service (the default command). The first launch only writes the configuration.')
    .option('--supervised', 'for launchd and other supervisors that restart Postern')
    .addHelpText('after', helpExamples('postern serve --config-dir ~/postern'))
    .action(runs(async () => (await import('./commands/serve-command.ts')).serveCommand));
  program
    .command('install')
    .description(
      'Install Postern on this Mac, so that it runs at every login. macOS grants the permissions to Postern.app.',
    )
    .option('--renew-runtime', 'also replace its private Node; the permissions must be granted again')
    .option('--no-wait', 'ask for the permissions once, and do not wait for them')
    .addHelpText('after', helpExamples('postern install'))
    .action(runs(async () => (await import('./commands/install-command.ts')).install));
  program
    .command('uninstall')
    .description('Uninstall Postern from this Mac. The configuration is kept.')
    .option('--purge', 'also remove configuration, state, logs and granted permissions')
    .addHelpText('after', helpExamples('postern uninstall --purge'))
    .action(runs(async () => (await import('./commands/uninstall-command.ts')).uninstall));
  declareAgentCommands(program, runs);
  declareBackupCommands(program, runs);
  declareConfigCommands(program, runs);
  declareShellCommands(program, runs);
}

/** The commands behind the shells' completions and the manual page. */
function declareShellCommands(program: Command, runs: Runs): void {
  program
    .command('completion')
    .description('Print the completion script of a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['zsh', 'bash', 'fish']))
    .addHelpText('after', helpExamples('source <(postern completion zsh)', 'postern completion fish | source'))
    .action(runs(async () => (await import('./commands/completion-command.ts')).completion));
  program
    .command('man')
    .description('Print the manual page. After make install, read it with: man postern')
    .addHelpText('after', helpExamples('postern man > postern.1'))
    .action(
      runs(async () => async (_options: object, context: Context) => {
        const { manualPage } = await import('./manual-page.ts');
        const day = new Date(systemClock.now()).toISOString().slice(0, 10);
        context.stdout(manualPage(program, { version: context.version, day, exitCodes: EXIT_CODE_HELP }).trimEnd());
      }),
    );
  program
    .command('complete', { hidden: true })
    .description('Print completions of the last word, for the completion scripts.')
    .argument('[words...]', 'the words of the line after the program')
    .addHelpText('after', helpExamples("postern complete -- messages ''"))
    .action(runs(async () => (await import('./commands/complete-command.ts')).complete.bind(null, program)));
}

function declareAgentCommands(program: Command, runs: Runs): void {
  const ORDERS = {
    start: 'Start the installed service, on a Mac.',
    stop: 'Stop the installed service until the next login, on a Mac.',
    restart: 'Restart the installed service, on a Mac, so that it reads the configuration again.',
  } as const;
  for (const [order, description] of Object.entries(ORDERS) as [keyof typeof ORDERS, string][]) {
    program
      .command(order)
      .description(description)
      .addHelpText('after', helpExamples(`postern ${order}`))
      .action(runs(async () => (await import('./commands/agent-command.ts')).control.bind(null, order)));
  }
  program
    .command('logs')
    .description('Print the log of the installed service, on a Mac.')
    .option('-f, --follow', 'keep printing new lines')
    .option('-n, --lines <number>', 'how many lines to begin with (50)', count)
    .option('--errors', 'what it wrote to stderr, such as a crash')
    .option('--json', 'the JSON lines of the file, unchanged')
    .addHelpText('after', helpExamples('postern logs -f', 'postern logs --errors'))
    .action(runs<[]>(async () => (await import('./commands/logs-command.ts')).logs));
}

function declareBackupCommands(program: Command, runs: Runs): void {
  program
    .command('backup')
    .description('Write the configuration and the state to one file. The service may keep running.')
    .addArgument(new Argument('<file>', 'the file to write'))
    .option('--force', 'replace the file if it exists')
    .option('--demo', 'the configuration of postern demo')
    .addHelpText('after', helpExamples('postern backup ~/postern.backup'))
    .action(runs(async () => (await import('./commands/backup-command.ts')).backup));
  program
    .command('restore')
    .description('Replace the configuration and the state with those of a backup. The service must be stopped.')
    .addArgument(new Argument('<file>', 'a file that postern backup wrote'))
    .option('--force', 'replace an existing configuration and state')
    .option('--demo', 'the configuration of postern demo')
    .addHelpText('after', helpExamples('postern restore ~/postern.backup'))
    .action(runs(async () => (await import('./commands/restore-command.ts')).restore));
}

function declareConfigCommands(program: Command, runs: Runs): void {
  const config = program
    .command('config')
    .description('Check the configuration, print its path or the API key, or change the key.')
    .addHelpText('after', helpExamples('postern config check', 'postern config path --demo'));
  const located = (command: Command): Command => command.option('--demo', 'the configuration of postern demo');
  located(config.command('check'))
    .description('List every mistake in config.toml; exits with 78 if it cannot be used.')
    .option('--json', 'as JSON')
    .addHelpText('after', helpExamples('postern config check'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).check));
  located(config.command('path'))
    .description('Print where config.toml is.')
    .addHelpText('after', helpExamples('$EDITOR "$(postern config path)"'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).showPath));
  located(config.command('key'))
    .description('Print the API key of the owner, for use in a shell.')
    .addHelpText('after', helpExamples('KEY=$(postern config key --demo)'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).showOwnerKey));
  located(config.command('rotate-key'))
    .description('Write a new random key to config.toml, and change nothing else.')
    .addHelpText('after', helpExamples('postern config rotate-key'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).rotate));
}
