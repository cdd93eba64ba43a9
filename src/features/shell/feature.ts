import { Argument } from 'commander';
import { SERVICE_COMMANDS } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';

/** Completes command lines in shells, and prints the manual page. */
export const shell = feature({
  name: 'shell',
  commands(program) {
    program
      .command('completion')
      .helpGroup(SERVICE_COMMANDS)
      .description('Print the completion script of a shell.')
      .addArgument(new Argument('<shell>', 'the shell').choices(['zsh', 'bash', 'fish']))
      .examples('source <(postern completion zsh)', 'postern completion fish | source')
      .runs(async () => (await import('./completion-command.ts')).completion);
    program
      .command('man')
      .helpGroup(SERVICE_COMMANDS)
      .description('Print the manual page. Once Postern is installed, read it with: man postern')
      .examples('postern man > postern.1')
      .runs(async () => (await import('./man-command.ts')).man.bind(null, program));
    program
      .command('complete', { hidden: true })
      .description('Print completions of the last word, for the completion scripts.')
      .argument('[words...]', 'the words of the line after the program')
      .examples("postern complete -- messages ''")
      .runs(async () => (await import('./complete-command.ts')).complete.bind(null, program));
  },
});
