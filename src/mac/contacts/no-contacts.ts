import type { Contacts } from '../../domain/ports/contacts.ts';
import { problem } from '../../domain/problems.ts';

/** Where names are switched off. */
export const noContacts: Contacts = {
  ready: () => undefined,
  names: { nameOf: () => undefined },
  search: () => Promise.reject(problem('contacts_disabled')),
  named: () => Promise.resolve([]),
  canonical: (address) => address.trim().toLowerCase(),
  health: () => ({ state: 'off', message: null }),
};
