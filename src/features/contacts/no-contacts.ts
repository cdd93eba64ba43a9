import type { CardSource } from './people-reader.ts';
import type { NamesOfCards } from './ports.ts';
import { contactProblem } from './problems.ts';

/** A source of contacts that knows no names. Takes the place of the Address Book while names are switched off. */
export const noContacts: NamesOfCards & CardSource = {
  isOn: false,
  ready: () => undefined,
  names: { nameOf: () => undefined },
  search: () => Promise.reject(contactProblem('contacts_disabled')),
  named: () => Promise.resolve([]),
  canonical: (address) => address.trim().toLowerCase(),
  cards: () => Promise.resolve([]),
  health: () => ({ state: 'off', message: null }),
};
