import type { ClientContext } from '../../core/cli/client-context.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { shownEvent } from '../../core/cli/output/event-line.ts';
import { json, printable } from '../../core/cli/output/text.ts';
import { conversationIdOf } from '../../core/cli/recipient.ts';
import type { Served } from '../../core/cli/service-connection.ts';
import { addressOf } from '../../core/model/address.ts';
import { CHANGE_EVENT_TYPES, type ChangeEvent, type Event } from '../../core/model/event.ts';
import type { WebhookEventType } from '../../core/model/webhook.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { pipeTo } from '../../core/runtime/command.ts';

export interface TailOptions extends ConnectionOptions {
  readonly after?: string;
  readonly changes?: boolean;
  /** Seconds that a message may take to arrive. Slower messages are skipped. */
  readonly maxAge?: number;
  /** With --json or --exec: adds `details` to each message. */
  readonly details?: boolean;
  readonly junk: boolean;
  readonly type?: readonly WebhookEventType[];
  /** A shell command to run for each event. */
  readonly exec?: string;
}

type Listened = Event | ChangeEvent;

/** `postern tail`: prints events as they happen, until Ctrl+C or until nobody reads stdout any more. */
export async function tail(conversation: string | undefined, options: TailOptions, service: Served): Promise<void> {
  const { client, address, stderr, isTerminal } = service;
  const changes = wantsChanges(options);
  // Requests the status first, so that the command fails if the service does not answer. `listen` would retry forever.
  const { newest_event: newest, macs } = await client.status();
  const only = conversation === undefined ? undefined : addressOf(await conversationIdOf(client, conversation));
  const start = options.after ?? (changes ? (await client.trackedEvents()).offset : (newest.offset ?? newest.row_id));
  // From here on, Ctrl+C aborts `signal`. Until here, it ends the process.
  const signal = service.untilEnded();
  let last: string | number = start;
  const isHub = macs !== undefined;
  if (isTerminal) {
    const from = isHub ? 'for events' : changes ? `for events and changes` : `after row ${last}`;
    stderr(`Listening to ${address} ${from}. Stop with Ctrl+C.`);
  }
  let isLineDown = false;
  const onReconnect = (reason: string): void => {
    if (!isLineDown) stderr(printable(`${reason} Reconnecting; nothing will be missed.`));
    isLineDown = true;
  };
  const isPlain = options.json === true || options.exec !== undefined;
  const line = {
    after: start,
    signal,
    onReconnect,
    maxAgeS: options.maxAge,
    // With --junk, sends no parameter at all, because an older service refuses parameters that it does not know.
    junk: options.junk ? undefined : false,
    ...(!isPlain && !isHub && { include: ['contacts', 'details'] as const }),
    ...(isPlain && options.details === true && { include: ['details'] as const }),
  };
  for await (const event of changes ? client.listen({ ...line, changes }) : client.listen(line)) {
    isLineDown = false;
    const position = 'offset' in event ? event.offset : event.data.id;
    const isWanted = options.type?.includes(event.type) ?? true;
    if (isWanted && (only === undefined || isIn(event, only))) await deliver(event, position, options, service);
    last = position;
  }
  if (isTerminal) stderr('', printable(`To continue from here: ${changes ? '--changes ' : ''}--after ${last}`));
}

/** Reports whether to ask for changes of messages too. A type of change in --type implies --changes. */
function wantsChanges({ changes = false, type = [] }: TailOptions): boolean {
  return changes || type.some((name) => (CHANGE_EVENT_TYPES as readonly string[]).includes(name));
}

function isIn({ data }: Listened, party: string): boolean {
  return 'conversation_id' in data && addressOf(data.conversation_id) === party;
}

async function deliver(
  event: Listened,
  position: string,
  { exec, json: asJson }: TailOptions,
  context: ClientContext,
): Promise<void> {
  if (exec !== undefined) await runFor(event, position, exec, context);
  else await context.writeLine(asJson === true ? json(event) : shownEvent(event, systemClock.now(), context));
}

/**
 * Runs the shell command for one event, and resolves when the command ends. Passes the content of the event only on
 * stdin, where the shell cannot execute it.
 */
async function runFor(
  event: Listened,
  position: string,
  command: string,
  { environment, stderr }: ClientContext,
): Promise<void> {
  const env = { ...environment.env, POSTERN_EVENT_TYPE: event.type, POSTERN_EVENT_POSITION: position };
  const end = await pipeTo('/bin/sh', ['-c', command], { env, input: `${json(event)}\n` });
  if (end.code === 0) return;
  const how = end.code === null ? `was ended by ${end.reason}` : `ended with code ${end.code}`;
  stderr(printable(`The command ${how} for ${event.type}. To continue after this event: --after ${position}`));
}
