import { describe, expect, test } from '@jest/globals';
import type { PosternClient } from '../../src/client/postern-client.ts';
import { PosternError } from '../../src/client/postern-error.ts';
import {
  conversationIdOf,
  conversationsToRead,
  listEntriesOf,
  personIdOf,
  recipientOf,
  senderAddressesOf,
} from '../../src/core/cli/recipient.ts';
import { folded } from '../../src/core/model/folded.ts';

const IDS = ['any;-;22395(smsft)', 'any;-;22395', 'any;-;+15550101(smsfp)', 'any;-;AXBNK-S(smsft_fi)', 'any;+;chat7'];
const CONTACTS = [
  { name: 'Dee O’Neil', nickname: null, organization: null, addresses: ['+15550101'] },
  { name: 'Jean‑Luc Roy', nickname: null, organization: null, addresses: ['22395'] },
];
const matching = (text: string) =>
  CONTACTS.filter(({ name, addresses }) => folded([name, ...addresses].join(' ')).includes(folded(text)));
/** A service whose lists are these conversations and contacts, newest first. */
const client = {
  conversations: async () => IDS.map((id) => ({ id, display_name: null, participants: [], last_message_at: '' })),
  conversation: async (given: string) => {
    const id = IDS.find((one) => one === given);
    if (id === undefined) throw new PosternError(404, {});
    return { id };
  },
  contacts: async ({ q }: { q: string }) => matching(q),
  people: {
    list: async () => CONTACTS.map((one, id) => ({ ...one, id: String(id), conversations: [] })),
  },
} as unknown as PosternClient;

describe('what a person types at the command line', () => {
  test.each([
    ['22395', ['any;-;22395(smsft)', 'any;-;22395']],
    ['+1 (555) 01-01', ['any;-;+15550101(smsfp)']],
    ["dee o'neil", ['any;-;+15550101(smsfp)']],
    ['Jean-Luc Roy', ['any;-;22395(smsft)', 'any;-;22395']],
    ['AXBNK-S', ['any;-;AXBNK-S(smsft_fi)']],
    ['any;-;22395', ['any;-;22395']],
    ['chat7', ['any;+;chat7']],
  ])('%s reads %j', async (given, ids) => {
    expect(await conversationsToRead(client, given)).toEqual(ids);
    expect(ids).toContain(await conversationIdOf(client, given));
  });

  test('a name is sent to the address without a tag, and finds the person and the senders', async () => {
    expect((await recipientOf(client, "Dee O'Neil")).id).toBe('+15550101');
    expect(await senderAddressesOf(client, 'Jean-Luc Roy')).toEqual(['22395']);
    expect(await senderAddressesOf(client, 'axbnk-s')).toEqual(['axbnk-s']);
    expect(await personIdOf(client, "dee o'neil")).toBe('0');
    expect(await personIdOf(client, '+1 (555) 01-01')).toBe('0');
  });

  test('the id of a group that no list shows goes to the service, which knows all of its ids', async () => {
    expect(await recipientOf(client, 'chat9')).toEqual({ id: 'chat9', shown: 'chat9' });
    expect(await listEntriesOf(client, 'chat9')).toEqual(['any;+;chat9']);
  });
});
