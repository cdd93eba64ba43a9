import { dirname, join } from 'node:path';
import { type Connection, ownNumber } from '../../core/chatdb/public.ts';
import type { Environment } from '../../core/config/environment.ts';
import { usualValues } from '../../core/config/setting.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import { AddressBook } from './address-book.ts';
import { callingCodeOf } from './dialable-address.ts';
import { noContacts } from './no-contacts.ts';
import type { CardSource } from './people-reader.ts';
import type { NamesOfCards } from './ports.ts';
import { CONTACT_SETTINGS, type ContactValues } from './settings.ts';

interface BookParts {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Log;
}

type Book = NamesOfCards & CardSource & { close(): Promise<void> | void };

/** Returns the Address Book, which is read at the first request for names; or one without names if they are off. */
export function bookOf({ isEnabled, callingCode }: ContactValues, parts: BookParts): Book {
  if (!isEnabled) return { ...noContacts, close: () => undefined };
  const { connection, ...others } = parts;
  return new AddressBook({
    ...others,
    // The one beside the chat.db that is read, which may be a copy of another Mac's.
    folder: join(dirname(connection.path), '../Application Support/AddressBook'),
    // Full Disk Access, which chat.db requires, also covers the files of the Address Book. Without it, reading them
    // would make macOS prompt the user.
    isAllowed: () => connection.access === 'granted',
    callingCode: () => callingCode || callingCodeOf(ownNumber(connection) ?? ''),
  });
}

/**
 * Returns the Address Book for a command that reads it without a service. `section` has the values of the feature in a
 * configuration; undefined if there is none, and the usual values apply.
 */
export function bookWithoutService(
  section: Readonly<Record<string, unknown>> | undefined,
  environment: Environment,
  parts: BookParts,
): Book {
  return bookOf((section ?? usualValues(CONTACT_SETTINGS, environment)) as ContactValues, parts);
}
