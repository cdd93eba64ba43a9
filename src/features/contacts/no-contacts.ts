import type { Contacts } from '../../core/model/ports/contacts-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { CardSource } from './people-reader.ts';

/** A source of contacts that knows no names. Takes the place of the Address Book while names are switched off. */
export const noContacts: Contacts & CardSource = {
  ready: () => undefined,
  names: { nameOf: () => undefined },
  search: () => Promise.reject(problem('contacts_disabled')),
  named: () => Promise.resolve([]),
  canonical: (address) => address.trim().toLowerCase(),
  cards: () => Promise.resolve([]),
  health: () => ({ state: 'off', message: null }),
};
