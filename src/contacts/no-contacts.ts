import type { Contacts } from '../domain/ports/contacts.ts';

/** Where names are switched off. */
export const noContacts: Contacts = {
  ready: () => undefined,
  names: { nameOf: () => undefined },
  search: () => [],
  named: () => [],
  canonical: (address) => address,
  health: () => ({ state: 'off', message: null }),
};
