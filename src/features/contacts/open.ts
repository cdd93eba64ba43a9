import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { bookOf } from './book.ts';
import { PeopleReader } from './people-reader.ts';
import { CONTACTS, PEOPLE } from './port.ts';
import type { ContactValues } from './settings.ts';

/**
 * Creates the readers of contacts and of people. Opens the Address Book once a client asks for names. People combine
 * the names in the Address Book with the conversations in chat.db.
 */
export function openContacts(core: Core, values: ContactValues): Running {
  const { host, closers, connection, messages, naming, ports } = core;
  const book = bookOf(values, { connection, clock: host.clock, log: host.log });
  // Not `Running.close`: requests that are being answered may still wait for names.
  closers.add('Address Book', () => book.close());
  naming.providedBy(book);
  ports.provide(CONTACTS, book);
  const chats = { version: () => connection.snapshot(), list: () => messages.chats() };
  ports.provide(PEOPLE, new PeopleReader(book, chats));
  return {
    status() {
      const health = book.health();
      return health.state === 'not_loaded' ? undefined : health;
    },
  };
}
