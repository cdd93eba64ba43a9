import { count, SERVICE_COMMANDS } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';

/** Puts Postern on this Mac, and controls the agent that launchd runs. */
export const installation = feature({
  name: 'installation',
  commands(program) {
    program
      .command('install')
      .helpGroup(SERVICE_COMMANDS)
      .description(
        'Install Postern on this Mac, so that it runs at every login. macOS grants the permissions to Postern.app.',
      )
      .option('--renew-runtime', 'also replace its private Node; the permissions must be granted again')
      .option('--no-wait', 'ask for the permissions once, and do not wait for them')
      .examples('postern install')
      .runs(async () => (await import('./install-command.ts')).install);
    program
      .command('uninstall')
      .helpGroup(SERVICE_COMMANDS)
      .description('Uninstall Postern from this Mac. The configuration is kept.')
      .option('--purge', 'also remove configuration, state, logs and granted permissions')
      .examples('postern uninstall --purge')
      .runs(async () => (await import('./uninstall-command.ts')).uninstall);
    const ORDERS = {
      start: 'Start the installed service, on a Mac.',
      stop: 'Stop the installed service until the next login, on a Mac.',
      restart: 'Restart the installed service, on a Mac, so that it reads the configuration again.',
    } as const;
    for (const [order, description] of Object.entries(ORDERS) as [keyof typeof ORDERS, string][]) {
      program
        .command(order)
        .helpGroup(SERVICE_COMMANDS)
        .description(description)
        .examples(`postern ${order}`)
        .runs(async () => (await import('./agent-command.ts')).control.bind(null, order));
    }
    program
      .command('logs')
      .helpGroup(SERVICE_COMMANDS)
      .description('Print the log of the installed service, on a Mac.')
      .option('-f, --follow', 'keep printing new lines')
      .option('-n, --lines <number>', 'how many lines to begin with (50)', count)
      .option('--errors', 'what it wrote to stderr, such as a crash')
      .option('--json', 'the JSON lines of the file, unchanged')
      .examples('postern logs -f', 'postern logs --errors')
      .runs<[]>(async () => (await import('./logs-command.ts')).logs);
  },
});
