import type { Command } from 'commander';
import type { Context } from './command.ts';
import { examples, nonEmpty, portNumber, type Runs } from './declaration.ts';

/** The commands that serve, and those that look after the machine. */
export function declareHostCommands(program: Command, context: Context, runs: Runs): void {
  program
    .command('serve', { isDefault: true })
    .description('Serve. The first launch only writes the configuration.')
    .option('--supervised', 'a supervisor such as launchd starts it again after a failure')
    .addHelpText('after', examples('postern serve --config-dir ~/postern'))
    .action(runs(async (command) => (await import('./serve.ts')).serve(command.optsWithGlobals(), context)));
  program
    .command('demo')
    .description('Serve a simulated Mac with a few people on it. Touches nothing of yours.')
    .option('--dir <folder>', 'where the simulated Mac lives', nonEmpty)
    .option('--port <number>', 'the TCP port, instead of the one in its config.toml', portNumber)
    .addHelpText('after', examples('postern demo --port 3002'))
    .action(runs(async (command) => (await import('./demo.ts')).demo(command.optsWithGlobals(), context)));
  program
    .command('run', { hidden: true })
    .description('First launch if there was none, then serve; without Messages, the demo.')
    .addHelpText('after', examples('postern run'))
    .action(runs(async (command) => (await import('./run.ts')).run(command.optsWithGlobals(), context)));
  program
    .command('doctor')
    .description('Look at everything that could keep the service from working; 1 when there is a problem.')
    .option('--json', 'as JSON')
    .option('--prompt', 'let macOS ask you for what is missing')
    .addHelpText(
      'after',
      examples('postern doctor', 'postern doctor --json | jq \'.findings[] | select(.state == "problem")\''),
    )
    .action(runs(async (command) => (await import('./doctor.ts')).doctor(command.optsWithGlobals(), context)));
  program
    .command('install')
    .description('Run at every login of this Mac, as an app of its own that holds the permissions.')
    .option('--renew-runtime', 'replace its private Node too; the permissions have to be given again')
    .option('--no-wait', 'ask for the permissions once, and do not wait for them')
    .addHelpText('after', examples('postern install'))
    .action(runs(async (command) => (await import('./install.ts')).install(command.optsWithGlobals(), context)));
  program
    .command('uninstall')
    .description('Take it off this Mac again. The configuration stays.')
    .option('--purge', 'remove configuration, state, logs and granted permissions too')
    .addHelpText('after', examples('postern uninstall --purge'))
    .action(runs(async (command) => (await import('./uninstall.ts')).uninstall(command.optsWithGlobals(), context)));
}
