import { Help, InvalidArgumentError } from 'commander';
import { count, nonEmpty, type ProgramCommand } from '../../core/cli/declaration.ts';

const OF_THE_SERVICE: ReadonlySet<string | undefined> = new Set(['--port', '--quiet', '--host', '--allow-network']);

/** The commands that change the simulated Mac of a running demo. */
export function declareDemoCommands(demo: ProgramCommand): void {
  const people = () => import('./demo-people-commands.ts');
  demo
    .command('say')
    .description('Let one of the people write to you. If the person is "me", you write on another device.')
    .argument('<person>', 'an address, a name, or "me"', nonEmpty)
    .argument('<text>', "the text; '' for a file alone")
    .option('--in <conversation>', 'the conversation, by its id or name', nonEmpty)
    .option('--attach <file>', 'a file to attach', nonEmpty)
    .option('--json', 'as JSON')
    .examples("postern demo say +15550100 'ping'", "postern demo say +15550101 'Who is in?' --in Garden")
    .runs(async () => (await people()).say);
  demo
    .command('react')
    .description('Let one of the people react to a message. Without --from, you react on another device.')
    .argument('<message>', 'its id', count)
    .argument('<reaction>', 'love, like, dislike, laugh, emphasize, question, or an emoji', nonEmpty)
    .option('--from <person>', 'an address or a name', nonEmpty)
    .option('--take-back', 'remove the reaction')
    .option('--json', 'as JSON')
    .examples('postern demo react 12 love --from +15550100')
    .runs(async () => (await people()).react);
  demo
    .command('edit')
    .description('Change the text of a message.')
    .argument('<message>', 'its id', count)
    .argument('<text>', 'the new text', nonEmpty)
    .option('--json', 'as JSON')
    .examples("postern demo edit 12 'I meant Saturday'")
    .runs(async () => (await people()).edit);
  const CHANGES = {
    unsend: 'Let the author of a message unsend it.',
    delete: 'Delete a message from this Mac.',
    read: 'Mark a message as read.',
  } as const;
  for (const [name, description] of Object.entries(CHANGES) as [keyof typeof CHANGES, string][]) {
    demo
      .command(name)
      .description(description)
      .argument('<message>', 'its id', count)
      .option('--json', 'as JSON')
      .examples(`postern demo ${name} 12`)
      .runs(async () => (await people()).change.bind(null, name));
  }
  demo
    .command('fail')
    .description('Make the next sends fail.')
    .argument('[times]', 'how many (1)', atMost(100), 1)
    .option('--json', 'as JSON')
    .examples('postern demo fail', 'postern demo fail 3')
    .runs(async () => (await people()).fail);
  demo
    .command('story')
    .description('Let the people tell their story again, from the beginning.')
    .option('--json', 'as JSON')
    .examples('postern demo story')
    .runs(async () => (await people()).story);
  demo
    .command('reset')
    .description('Forget everything that happened. The demo must not be running.')
    .examples('postern demo reset')
    .runs(async () => (await people()).reset);
  // Hides the options with which `postern demo` starts its service. They have no effect on a demo that is already
  // running.
  for (const command of demo.commands) {
    command.configureHelp({
      ...command.configureHelp(),
      visibleGlobalOptions(of) {
        return Help.prototype.visibleGlobalOptions.call(this, of).filter(({ long }) => !OF_THE_SERVICE.has(long));
      },
    });
  }
}

function atMost(limit: number): (value: string) => number {
  return (value) => {
    const number = count(value);
    if (number > limit) throw new InvalidArgumentError(`It must be at most ${limit}.`);
    return number;
  };
}
