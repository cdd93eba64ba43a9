import { connected, count } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { finding, ok } from '../../core/model/finding.ts';
import type { ContactsHealth } from './ports.ts';
import { CONTACT_PROBLEMS } from './problems.ts';
import { CONTACT_SETTINGS } from './settings.ts';

/** Names people by the cards of the Address Book, and lists people with all of their conversations. */
export const contacts = feature({
  name: 'contacts',
  settings: CONTACT_SETTINGS,
  problems: CONTACT_PROBLEMS,
  routes: {
    listContacts: { method: 'GET', path: '/contacts', key: 'header', access: ['read'] },
    listPeople: { method: 'GET', path: '/people', key: 'header', access: ['read'] },
    listPersonMessages: { method: 'GET', path: '/people/{id}/messages', key: 'header', access: ['read'] },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  commands(program) {
    connected(program.command('people'))
      .description('List the people you have conversations with, each with all their addresses.')
      .argument('[words...]', 'only those whose name or addresses contain every word')
      .option('--limit <number>', 'maximum number (50), at most 200', count)
      .examples('postern people', 'postern people silva', "postern people --json | jq '.[0]'")
      .asks(async () => (await import('./people-command.ts')).people);
  },
  isCapable: ({ isEnabled }) => isEnabled,
  shownToKeys: ({ state, message }: ContactsHealth): ContactsHealth => ({ state, message }),
  // None while names are off or not loaded. The first request for names loads them.
  async findings({ status }) {
    const { contacts: health } = (status ?? {}) as { readonly contacts?: ContactsHealth };
    if (health === undefined || health.state === 'off' || health.state === 'not_loaded') return [];
    if (health.message === null) return [ok('contacts', 'The Address Book can be read.')];
    const advice =
      'Switch on Full Disk Access for Postern. If a file is damaged, open Contacts, which creates it again. To do without names, set contacts.enabled = false in config.toml.';
    return [finding('warning', 'contacts', health.message, advice)];
  },
  open: async (core, values) => (await import('./open.ts')).openContacts(core, values),
});
