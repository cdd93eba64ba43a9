import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChatDatabase, OWN_ADDRESS } from '../../../src/features/simulator/chat-database.ts';
import { changeRow, linkBalloon } from '../../../src/features/simulator/row-commands.ts';

export const ANA = '+15550100';
export const BEN = 'ben@example.com';
/** Path below the home folder. */
export const FILES = 'Library/Messages/Attachments/00';
export const GROUP = 'any;+;chat555';
/** Far enough from today that no time limit depends on the day of the run. */
const BEGIN_MS = Date.UTC(2026, 0, 5, 12);
const MINUTE_MS = 60_000;

/** Writes a row of every kind, each on its own minute of one day, and their files into `folder`. */
export function writeHistory(database: ChatDatabase, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of NAMES) writeFileSync(join(folder, name), 'invented');
  let minute = 0;
  const next = (): number => BEGIN_MS + MINUTE_MS * minute++;
  const ana = database.directChat(ANA);
  const received = (text: string, columns = {}): number =>
    database.joinedMessage(ana, { text, from: ANA, dateMs: next(), columns });
  const sent = (text: string, columns = { is_sent: 1, is_delivered: 1 }): number =>
    database.joinedMessage(ana, { text, dateMs: next(), columns });

  const first = received('hello');
  sent('hi there');
  sent('not delivered yet', { is_sent: 1, is_delivered: 0 });
  database.update('message', sent('never arrived'), { error: 22, is_sent: 0, is_delivered: 0 });
  received('an answer', { thread_originator_guid: database.guid(first), thread_originator_part: '0:0:5' });
  database.reaction(ana, first, { type: 2000, dateMs: next() });
  database.reaction(ana, first, { type: 3001, from: ANA, dateMs: next() });
  database.reaction(ana, first, { type: 2006, emoji: '🎉', from: ANA, dateMs: next() });
  changeRow(database, { do: 'edit', row: received('a tipo'), text: 'a typo' }, next());
  changeRow(database, { do: 'unsend', row: received('oops') }, next());
  const withFile = received('\uFFFCa picture');
  file(database, withFile, 'picture.jpg');
  changeRow(database, { do: 'unsend', row: withFile }, next());
  links(database, ana, next);
  files(database, received);
  apps(database, next);
  group(database, next);
  selfChat(database, next);
  scheduledAndDeleted(database, ana, next);
  database.message({ text: 'in no conversation', from: ANA, dateMs: next() });
}

const NAMES = [
  'picture.jpg',
  'preview.pluginPayloadAttachment',
  'icon.pluginPayloadAttachment',
  'large.pluginPayloadAttachment',
  'photo.jpg',
  'hidden.jpg',
] as const;

function file(database: ChatDatabase, row: number, name: (typeof NAMES)[number], isHidden = false): void {
  const filename = `~/${FILES}/${name}`;
  database.attach(row, { filename, name, mimeType: 'image/jpeg', bytes: 8, isHidden });
}

function links(database: ChatDatabase, chat: number, next: () => number): void {
  changeRow(database, { do: 'link', from: ANA, text: 'look', url: 'https://example.com/a' }, next());
  const row = database.joinedMessage(chat, { text: 'see', dateMs: next(), columns: { is_sent: 1, is_delivered: 1 } });
  linkBalloon(database, { chat, row, url: 'https://example.com/b' }, next() - MINUTE_MS / 2);
}

function files(database: ChatDatabase, received: (text: string) => number): void {
  const preview = received('https://example.com/c');
  file(database, preview, 'preview.pluginPayloadAttachment');
  file(database, preview, 'icon.pluginPayloadAttachment', true);
  const mixed = received('\uFFFChttps://example.com/d');
  file(database, mixed, 'large.pluginPayloadAttachment');
  file(database, mixed, 'photo.jpg');
  file(database, received('\uFFFC'), 'hidden.jpg', true);
  database.attach(received('\uFFFC'), { filename: null, name: 'coming.mov', transferState: 0 });
}

function apps(database: ChatDatabase, next: () => number): void {
  const begun = changeRow(database, { do: 'app', from: ANA, text: 'Your turn', type: 2 }, next());
  const session = (begun as { readonly row: number }).row;
  changeRow(database, { do: 'app', from: ANA, text: 'You won', type: 3, session }, next());
  const { row: poll } = changeRow(database, { do: 'poll', from: BEN }, next()) as { readonly row: number };
  changeRow(database, { do: 'vote', poll, from: BEN }, next());
  changeRow(database, { do: 'add_option', poll, from: BEN }, next());
}

function group(database: ChatDatabase, next: () => number): void {
  const chat = database.chat(GROUP, [ANA, BEN], { display_name: 'Walks' });
  database.joinedMessage(chat, { text: 'on Sunday?', from: BEN, dateMs: next() });
  const columns = { item_type: 2, group_title: 'Long walks', attributedBody: null, text: null };
  database.joinedMessage(chat, { text: '', from: ANA, dateMs: next(), columns });
  database.joinedMessage(chat, { text: 'yes', dateMs: next(), columns: { is_sent: 1, is_delivered: 1, is_read: 1 } });
}

function selfChat(database: ChatDatabase, next: () => number): void {
  const write = (text: string, isIncoming: boolean, dateMs: number): unknown =>
    changeRow(database, { do: 'write_to_self', address: OWN_ADDRESS, text, isIncoming }, dateMs);
  const together = next();
  write('milk', false, together);
  write('milk', true, together + 1000);
  // Seen five minutes apart, the incoming copy first.
  const apart = next();
  write('bread', true, apart);
  write('bread', false, apart + 5 * MINUTE_MS);
}

function scheduledAndDeleted(database: ChatDatabase, chat: number, next: () => number): void {
  const columns = { schedule_type: 2, schedule_state: 2, is_finished: 0 };
  database.joinedMessage(chat, { text: 'tomorrow', dateMs: next(), columns });
  const deleted = database.joinedMessage(chat, { text: 'thrown away', from: ANA, dateMs: next() });
  database.deleteToRecoverable(deleted, next());
}
