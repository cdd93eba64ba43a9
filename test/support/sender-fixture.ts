import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SendRequest, SendResult } from '../../src/core/model/ports/sending-ports.ts';
import type { SentPartStore } from '../../src/core/model/ports/sent-parts-ports.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { FakeClock } from './fake-clock.ts';
import { InMemoryChat, InMemoryMessages, InMemoryStore } from './in-memory-messages.ts';
import { collectingLog } from './log.ts';
import { type NewSenderOptions, newSender } from './new-sender.ts';
import { temporaryFolder } from './temporary.ts';

/** Contains two pictures and the folder of the configuration. */
export const folder = temporaryFolder();
mkdirSync(join(folder, 'config'));
export const photo = join(folder, 'photo.png');
export const other = join(folder, 'other.png');
for (const path of [photo, other]) writeFileSync(path, 'picture');

let databases = 0;

/** Creates a store of sent parts in a new state.db. */
export function newSentParts(): SentPartStore {
  databases += 1;
  return sentPartStore(openStateDatabase(join(folder, `state-${databases}.db`)));
}

/** Creates a sender with in-memory Messages, chat.db and idempotency store, and a fake clock. */
export function setUp(more: Partial<NewSenderOptions> = {}) {
  const clock = new FakeClock();
  const chat = new InMemoryChat(() => (more.clock ?? clock).now());
  const messages = new InMemoryMessages();
  const store = new InMemoryStore();
  const sentParts = newSentParts();
  const log = collectingLog();
  const { sender, origins, confirmations } = newSender({
    messages,
    lookup: chat,
    idempotency: store,
    sentParts,
    clock,
    log,
    confirmMs: 3000,
    attachments: { roots: [], chatDbPath: join(folder, 'chat.db'), configDir: join(folder, 'config') },
    ...more,
  });
  const send = (request: Partial<SendRequest> = {}): Promise<SendResult> =>
    sender.send({ recipient: '+15550100', body: 'hello', attachments: [], ...request });
  return { clock, chat, messages, store, sentParts, log, sender, origins, confirmations, send };
}

/** Waits for every step that needs no time. */
export async function idle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Returns a behaviour of Messages that writes the row at once, in the chat of the address. */
export function obedient({ chat, messages }: { chat: InMemoryChat; messages: InMemoryMessages }): void {
  messages.behave = ({ recipient, content }) => {
    const address = `-;${recipient}`;
    if ('body' in content) chat.add({ address, body: content.body });
    else chat.add({ address, attachmentNames: [content.attachment.split('/').at(-1) ?? ''] });
    return { kind: 'done' };
  };
}
