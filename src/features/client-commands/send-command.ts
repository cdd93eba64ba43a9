import type { HeldSend, Message, ScheduledAnswer, SentMessage } from '../../client/types.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { upload } from '../../core/cli/files.ts';
import { oneLine, printable } from '../../core/cli/output/text.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import { recipientOf } from '../../core/cli/recipient.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { type SendChoices, sendChoices } from '../../core/model/send-service.ts';
import { localTimeZone, systemClock } from '../../core/runtime/clock.ts';
import type { WaitState } from './commands.ts';
import { isReached, waited } from './send-wait.ts';

export interface SendFlags extends ConnectionOptions, SendChoices {
  readonly attach?: readonly string[];
  readonly idempotencyKey?: string;
  readonly markdown?: boolean;
  readonly at?: string;
  readonly until?: string;
  readonly wait?: WaitState;
  /** Time limit of --wait, in seconds. */
  readonly timeout?: number;
}

/** Maximum bytes of a text on stdin. The 20,000 characters that the service allows (decision D7) always take fewer. */
const MAX_BYTES = 1024 * 1024;

/** `postern send`: hands a message to Messages and reports the outcome. */
export async function send(
  recipient: string,
  text: string | undefined,
  { attach = [], idempotencyKey, wait: wanted, timeout: seconds = 60, ...options }: SendFlags,
  service: Served,
): Promise<number> {
  const { client, answer, progress } = service;
  if (text === undefined && attach.length === 0) {
    throw new Refusal(
      EXIT.usage,
      'There is nothing to send.',
      'Give a text, - to read it from stdin, or --attach FILE.',
    );
  }
  if (options.until !== undefined && options.at === undefined) throw new Refusal(EXIT.usage, '--until needs --at.');
  if (options.at !== undefined && wanted !== undefined) {
    throw new Refusal(
      EXIT.usage,
      '--wait cannot be combined with --at.',
      '`postern scheduled list` shows what is still to be sent.',
    );
  }
  const to = await recipientOf(client, recipient);
  if (to.id !== recipient && options.json !== true) service.stderr(printable(`To ${to.shown}.`));
  const body = text === '-' ? await textFrom(service.input()) : (text ?? '');
  const uploads: string[] = [];
  for (const path of attach) {
    progress(printable(`Uploading ${oneLine(path)}`));
    uploads.push((await upload(client, path)).id);
  }
  const request = {
    recipient: to.id,
    body,
    ...(options.markdown === true && { format: 'markdown' as const }),
    ...sendChoices(options),
    ...(uploads.length > 0 && { attachment_ids: uploads }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
  if (options.at !== undefined) {
    const { at, until } = options;
    const times = { send_at: at, ...(until !== undefined && { send_until: until }) };
    const added = await client.scheduled.add({ ...request, ...times });
    answer(added, scheduled(added, to.shown));
    return EXIT.ok;
  }
  // Reads the current offset before sending, so that --wait sees every event of the message.
  const offset = wanted === undefined ? '' : (await client.trackedEvents()).offset;
  progress('Sending');
  const message = await client.send(request);
  if (wanted !== undefined && !('approval' in message)) {
    progress(`Waiting until it is ${wanted}`);
    const end = await waited(client, message, { offset, recipient: to.id, wanted, seconds });
    return reportState(end ?? message, to.shown, { wanted, seconds }, service);
  }
  if (!('approval' in message) && message.status === 'failed') {
    return reportState(message, to.shown, { wanted: 'sent', seconds }, service);
  }
  answer(message, 'approval' in message ? held(message, to.shown) : outcome(message, to.shown));
  return wanted === undefined ? EXIT.ok : EXIT.timedOut;
}

/** Reports the outcome of a send that failed, or of one with --wait. Returns the exit code. */
function reportState(
  message: Message,
  recipient: string,
  { wanted, seconds }: { readonly wanted: WaitState; readonly seconds: number },
  { answer, stderr, paint, paintError }: Served,
): number {
  const { id, status } = message;
  const what = `Message ${id === '' ? '' : `${id} `}to ${oneLine(recipient)}`;
  if (isReached(message, wanted)) {
    answer(message, `${what} is ${paint('green', status)}.`);
    return EXIT.ok;
  }
  answer(message);
  if (status === 'failed') {
    stderr(paintError('red', `${what} failed: Messages could not deliver it.`));
    return EXIT.failed;
  }
  stderr(
    paintError('yellow', `${what} is not ${wanted} after ${seconds} seconds: its status is ${status}.`),
    'Messages has accepted it, so do not send it again. Some messages, such as SMS, are never reported as delivered.',
  );
  return EXIT.timedOut;
}

function scheduled(answer: ScheduledAnswer | HeldSend, recipient: string): string {
  if ('approval' in answer) return held(answer, recipient);
  const { id, send_at: at, state } = answer.scheduled;
  const again = answer.replayed === true ? `Not scheduled again (${state}): ` : '';
  return `${again}Scheduled for ${oneLine(recipient)}, ${shownTime(at, systemClock.now())} ${localTimeZone()} (${id}).`;
}

function held({ approval: { id } }: HeldSend, recipient: string): string {
  return `The send to ${oneLine(recipient)} is held until the owner decides (approval ${id}).`;
}

function outcome({ id, status, timestamp, replayed }: SentMessage, recipient: string): string {
  const to = oneLine(recipient);
  if (replayed === true) {
    return `Not sent again: message ${id === '' ? '' : `${id} `}from ${shownTime(timestamp, systemClock.now())} already has this idempotency key (${status}).`;
  }
  return id === ''
    ? `Messages has accepted the message to ${to}, but it is not in the database yet. Once it is, the event message.sent follows.`
    : `Sent to ${to} as message ${id} (${status}).`;
}

/** Reads the text from stdin. Removes one trailing line break, because `echo` adds one. */
async function textFrom(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Refusal(EXIT.refusedInput, 'The text on stdin is too long for a message.');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)).replace(/\r?\n$/, '');
  } catch {
    throw new Refusal(EXIT.refusedInput, 'stdin is not UTF-8 text.', 'Send a file with --attach FILE.');
  }
}
