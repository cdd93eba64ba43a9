import { Option } from 'commander';
import { gathered, nonEmpty, SERVICE_COMMANDS } from '../../core/cli/declaration.ts';
import { SINCE_FORMS, sinceTime } from '../../core/cli/since.ts';
import { feature } from '../../core/feature.ts';
import { systemClock } from '../../core/runtime/clock.ts';

/** Archives everything in chat.db in a folder, and verifies an archive. Needs no running service. */
export const archive = feature({
  name: 'archive',
  // Adds names of people, and a version of each attachment that every browser can show.
  needs: ['contacts', 'media'],
  commands(program) {
    const time = (value: string): number => sinceTime(value, systemClock.now());
    const command = program
      .command('export')
      .helpGroup(SERVICE_COMMANDS)
      .description(
        'Archive all messages and attachments in a folder, or extend an existing archive. Needs no running service.',
      )
      // Taken only to say that --out names the folder.
      .argument('[folder]', 'use --out instead')
      .option('--out <folder>', 'the folder of the archive', nonEmpty)
      .option('--conversation <which>', 'only this conversation: its id, address or name; may be repeated', gathered)
      .option('--since <time>', `archive only messages from then on: ${SINCE_FORMS}`, time)
      .option(
        '--until <time>',
        'archive only messages before then, in the same forms; a day begins at its midnight',
        time,
      )
      .addOption(
        new Option(
          '--attachments <how>',
          'copy the files or not; "convert" also adds a version that every browser can show (copy)',
        ).choices(['none', 'copy', 'convert']),
      )
      .addOption(new Option('--html <which>', 'pages to read in a browser (on)').choices(['on', 'off']))
      .option('--demo', 'the messages of postern demo')
      .option('--json', 'as JSON')
      .examples(
        'postern export --out ~/Documents/Messages',
        "postern export --out ~/Ana --conversation 'Ana Silva' --since 2026-01-01",
        'postern export verify ~/Documents/Messages',
      )
      .runs(async () => (await import('./export-command.ts')).exportMessages);
    const check = command
      .command('verify')
      .description('Check every line and every file of an archive; exits with 65 if anything was changed.')
      .argument('<folder>', 'the folder of the archive', nonEmpty)
      .option(
        '--against-chat-db',
        'also compare with chat.db: count messages that are the same, not archived, gone or different',
      )
      .option('--demo', 'with --against-chat-db: compare with the messages of postern demo')
      .option('--json', 'as JSON')
      .examples('postern export verify ~/Documents/Messages')
      .runs(async () => (await import('./export-verify-command.ts')).verify);
    // Hides the options of `export` in the help of `export verify`, where they have no effect.
    check.configureHelp({
      ...check.configureHelp(),
      visibleGlobalOptions: () => [...program.options],
    });
  },
});
