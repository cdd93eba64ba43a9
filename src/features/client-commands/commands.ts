import { InvalidArgumentError, Option } from 'commander';
import {
  connected,
  count,
  eventTypes,
  gathered,
  nonEmpty,
  type ProgramCommand,
  rowOrOffset,
  secondsUpTo,
} from '../../core/cli/declaration.ts';
import { maxAgeSeconds, SINCE_FORMS, sinceTime } from '../../core/cli/since.ts';
import { SERVICE_CHOICES } from '../../core/model/send-service.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { AT_FORMS, atTime } from './send-time.ts';
import { declareWebhookCommands } from './webhook-declarations.ts';

/** The states that `send --wait` can wait for, in the order in which they occur. */
const WAIT_STATES = ['sent', 'delivered', 'read'] as const;
export type WaitState = (typeof WAIT_STATES)[number];

/** Declares the commands that talk to a running service. */
export function declareClientCommands(program: ProgramCommand): void {
  connected(program.command('status'))
    .description('Show the state of the running service; exits with 69 while it cannot read Messages.')
    .examples('postern status', 'postern status --json | jq .newest_row')
    .asks(async () => (await import('./status-command.ts')).status);
  declareSend(program);
  declareLists(program);
  declareTail(program);
  declareAttachmentCommands(program);
  declareWebhookCommands(program);
}

function declareSend(program: ProgramCommand): void {
  connected(program.command('send'))
    .description('Send a message.')
    .argument('<recipient>', 'a phone number, an e-mail address, a conversation id, or a name', nonEmpty)
    .argument('[text]', 'the text; - reads it from stdin')
    .option('--attach <file>', 'a file to attach; may be repeated', gathered)
    .option('--markdown', 'the text is Markdown, which Postern converts to plain text')
    .addOption(new Option('--service <service>', 'send by this service').choices(SERVICE_CHOICES))
    .addOption(new Option('--fallback <service>', 'send by SMS if iMessage fails').choices(['sms']))
    .option('--at <time>', `send it later: ${AT_FORMS}`, (value) => atTime(value, systemClock.now()))
    .option('--until <time>', 'give up after this time (an hour after --at)', (value) =>
      atTime(value, systemClock.now()),
    )
    .option(
      '--idempotency-key <text>',
      'send nothing if a send within the last day had the same idempotency key',
      nonEmpty,
    )
    .addOption(
      new Option('--wait <state>', 'wait for this state; exits with 1 if the send failed').choices(WAIT_STATES),
    )
    .option('--timeout <seconds>', 'how long --wait waits (60); exits with 124 after that', secondsUpTo(3600))
    .examples(
      "postern send +15550100 'On my way'",
      "postern send 'Ana Silva' 'On my way'",
      'uptime | postern send ana@example.com -',
      'postern send +15550100 --attach photo.jpg',
      'postern send +15550100 --markdown - < notes.md',
      "postern send +15550100 'Alarm!' --wait delivered",
      "postern send +15550100 'Happy birthday!' --at 'tomorrow 08:00'",
    )
    .asks(async () => (await import('./send-command.ts')).send);
}

/** Declares the commands that list what Messages has. */
function declareLists(program: ProgramCommand): void {
  connected(program.command('conversations'))
    .description('List conversations, most recent first.')
    .argument('[words...]', 'only those whose name, number or people contain every word')
    .option('--limit <number>', 'maximum number (50)', count)
    .option('--unread', 'only those with unread messages')
    .examples('postern conversations --limit 5', 'postern conversations garden', 'postern conversations --unread')
    .asks(async () => (await import('./conversations-command.ts')).conversations);
  connected(program.command('messages'))
    .description('List the newest messages, oldest at the top. With --json the newest comes first.')
    .argument('[conversation]', 'the conversation: its id, address or name', nonEmpty)
    .option('--since <time>', `only messages from then on: ${SINCE_FORMS}`, (value) =>
      sinceTime(value, systemClock.now()),
    )
    .addOption(
      new Option(
        '--person <person>',
        'only messages with this person, at any address: a name, an address, or an id from postern people',
      )
        .argParser(nonEmpty)
        .conflicts('since'),
    )
    .option('--limit <number>', 'maximum number (20)', count)
    .option('--details', 'with --json: add what each message contains')
    .examples(
      'postern messages +15550100 --limit 5',
      "postern messages --person 'Ana Silva'",
      "postern messages 'Ana Silva' --since yesterday",
      "postern messages --since 2h --json | jq -r '.[].body'",
    )
    .asks(async () => (await import('./messages-command.ts')).messages);
}

function declareTail(program: ProgramCommand): void {
  connected(program.command('tail'))
    .description('Print events as they happen. Reconnects by itself and misses nothing.')
    .argument('[conversation]', 'only this conversation: its id, address or name', nonEmpty)
    .option('--after <row>', 'start with everything after this row id or offset; 0 for all', rowOrOffset)
    .option('--changes', 'include edits, unsends, reads, deliveries and deletions')
    .option(
      '--max-age <stretch>',
      'skip messages that took longer than this to arrive, such as 30m or 2h',
      maxAgeSeconds,
    )
    .option('--details', 'with --json or --exec: add what each message contains')
    .option('--no-junk', 'skip what Messages hides: spam, promotions, codes of services')
    .addOption(eventTypes('--type <type>', 'only events of this type; may be repeated'))
    .option('--exec <command>', 'run this command for each event, with the event as JSON on stdin', nonEmpty)
    .examples(
      'postern tail',
      'postern tail --changes',
      'postern tail --type message.received --json | jq -r .data.body',
      "postern tail 'Ana Silva' --exec 'jq -r .data.body >> ana.txt'",
    )
    .asks(async () => (await import('./tail-command.ts')).tail);
}

/** Declares `postern attachments`, which saves attachments of messages and uploads files to send. */
function declareAttachmentCommands(program: ProgramCommand): void {
  const attachments = program
    .command('attachments')
    .description('Save attachments of messages, and upload files to send.')
    .examples('postern attachments get 1204', 'postern attachments upload photo.jpg');
  connected(attachments.command('get'))
    .description('Write an attachment of a message to a file.')
    .argument('<message>', 'the id of the message', nonEmpty)
    .argument('[n]', 'which one, counted from 0', attachmentIndex, 0)
    .option('--out <file>', 'the file to write (in this folder, named like the attachment)', nonEmpty)
    .addOption(new Option('--as <form>', 'convert it').choices(['jpeg', 'm4a']))
    .option('--max <pixels>', 'maximum length of the longer side of a picture', count)
    .examples('postern attachments get 1204', 'postern attachments get 1204 1 --as jpeg --max 1568 --out photo.jpg')
    .asks(async () => (await import('./attachments-commands.ts')).getAttachment);
  connected(attachments.command('upload'))
    .description('Upload a file and print the id to send it with. postern send --attach does both.')
    .argument('<file>', 'the file', nonEmpty)
    .examples('postern attachments upload photo.jpg')
    .asks(async () => (await import('./attachments-commands.ts')).uploadAttachment);
}

function attachmentIndex(value: string): number {
  if (!/^\d{1,4}$/.test(value)) throw new InvalidArgumentError('It must be a whole number from 0 to 9999.');
  return Number(value);
}
