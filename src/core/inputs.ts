import { AddressBook } from '../features/contacts/address-book.ts';
import { callingCodeOf } from '../features/contacts/dialable-address.ts';
import { noContacts } from '../features/contacts/no-contacts.ts';
import { PeopleReader } from '../features/contacts/people-reader.ts';
import type { ThreadTargets } from '../reader-worker.ts';
import { Connection } from './chatdb/connection.ts';
import { oneToOneChats } from './chatdb/one-to-one-chats.ts';
import { ownNumber } from './chatdb/owner.ts';
import type { Config } from './config/config.ts';
import { hiddenTexts } from './feature.ts';
import type { Host } from './host.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import { ReaderThread } from './runtime/reader-thread.ts';

const READER_WORKER = new URL('../reader-worker.js', import.meta.url);

interface InputParts {
  readonly config: Config;
  readonly host: Host;
  readonly closers: Cleanup;
}

/** Opens chat.db. The reader thread starts at its first use. */
export function openChatDb({ config, host, closers }: InputParts) {
  const { clock, log, homeFolder: home } = host;
  const { chatDbPath: path, associatedRows } = config.backend;
  const kinds = { associatedRows, hidden: hiddenTexts(config, host.features) };
  const thread = ReaderThread.isSupported
    ? new ReaderThread<ThreadTargets>({ script: READER_WORKER, path, home, ...kinds, clock, log })
    : undefined;
  const survey = thread && (() => thread.call('lists', 'survey'));
  const connection = new Connection({ path, home, log, ...kinds }, survey);
  closers.add('chat.db', () => connection.close());
  closers.add('reader thread', { end: () => thread?.hurry(), close: () => thread?.close() });
  return { connection, thread };
}

/**
 * Creates the readers of contacts and of people. Opens the Address Book once a client asks for names. `people` combines
 * the names in the Address Book with the conversations in chat.db.
 */
export function openContacts({
  config,
  host,
  closers,
  connection,
  thread,
}: InputParts & ReturnType<typeof openChatDb>) {
  const { clock, log } = host;
  const { addressBookPath, callingCode, isEnabled } = config.contacts;
  const book = new AddressBook({
    folder: addressBookPath,
    // Full Disk Access, which chat.db requires, also covers the files of the Address Book. Without it, reading them
    // would make macOS prompt the user.
    isAllowed: () => connection.access === 'granted',
    callingCode: () => callingCode || callingCodeOf(ownNumber(connection) ?? ''),
    clock,
    log,
  });
  closers.add('Address Book', () => book.close());
  const contacts = isEnabled ? book : noContacts;
  return { contacts, people: new PeopleReader(contacts, oneToOneChats(connection, thread)) };
}
