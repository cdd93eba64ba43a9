import { type Command, InvalidArgumentError, Option } from 'commander';
import { connected, count, helpExamples, nonEmpty, type Runs, served } from './declaration.ts';

/** The commands for files of messages and files to send. */
export function declareAttachmentCommands(program: Command, runs: Runs): void {
  const attachments = program
    .command('attachments')
    .description('Get files of messages, and upload files to send.')
    .addHelpText('after', helpExamples('postern attachments get 1204', 'postern attachments upload photo.jpg'));
  connected(attachments.command('get'))
    .description('Write an attachment of a message to a file.')
    .argument('<message>', 'the id of the message', nonEmpty)
    .argument('[n]', 'which one, counted from 0', place, 0)
    .option('--out <file>', 'the file to write (its own name, in this folder)', nonEmpty)
    .addOption(new Option('--as <form>', 'convert it').choices(['jpeg', 'm4a']))
    .option('--max <pixels>', 'the longer side of a picture at most', count)
    .addHelpText(
      'after',
      helpExamples(
        'postern attachments get 1204',
        'postern attachments get 1204 1 --as jpeg --max 1568 --out photo.jpg',
      ),
    )
    .action(runs(served(async () => (await import('./commands/attachments.ts')).getAttachment)));
  connected(attachments.command('upload'))
    .description('Upload a file, and print the id to send it by. postern send --attach does both.')
    .argument('<file>', 'the file', nonEmpty)
    .addHelpText('after', helpExamples('postern attachments upload photo.jpg'))
    .action(runs(served(async () => (await import('./commands/attachments.ts')).uploadAttachment)));
}

function place(value: string): number {
  if (!/^\d{1,4}$/.test(value)) throw new InvalidArgumentError('It must be a whole number from 0 to 9999.');
  return Number(value);
}
