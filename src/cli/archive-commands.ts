import { type Command, Option } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import { gathered, helpExamples, nonEmpty, type Runs } from './declaration.ts';
import { SINCE_FORMS, sinceTime } from './since.ts';

/** The commands that archive everything in chat.db and verify an archive. */
export function declareArchiveCommands(program: Command, runs: Runs): void {
  const time = (value: string): string => sinceTime(value, systemClock.now());
  const command = program
    .command('export')
    .description('Archive all messages and attachments in a folder, or extend that archive. Needs no running service.')
    .option('--out <folder>', 'the folder of the archive', nonEmpty)
    .option('--conversation <which>', 'only this one: its id, address or name; may be repeated', gathered)
    .option('--since <time>', `only new messages after: ${SINCE_FORMS}`, time)
    .option('--until <time>', 'only new messages before, in the same forms', time)
    .addOption(
      new Option('--attachments <how>', 'convert adds a form that every browser shows (copy)').choices([
        'none',
        'copy',
        'convert',
      ]),
    )
    .addOption(new Option('--html <which>', 'pages to read in a browser (on)').choices(['on', 'off']))
    .option('--demo', 'the messages of postern demo')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      helpExamples(
        'postern export --out ~/Documents/Messages',
        "postern export --out ~/Ana --conversation 'Ana Silva' --since 2026-01-01",
        'postern export verify ~/Documents/Messages',
      ),
    )
    .action(runs(async () => (await import('./commands/export.ts')).exportMessages));
  command
    .command('verify')
    .description('Check every line and every file of an archive; exits with 65 if anything was changed.')
    .argument('<folder>', 'the folder of the archive', nonEmpty)
    .option('--against-chat-db', 'also count what is the same in chat.db, not archived, gone, or different')
    .option('--demo', 'the messages of postern demo')
    .option('--json', 'as JSON')
    .addHelpText('after', helpExamples('postern export verify ~/Documents/Messages'))
    .action(runs(async () => (await import('./commands/export-verify.ts')).verify));
}
