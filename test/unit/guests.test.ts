import { expect, test } from '@jest/globals';
import { Guests } from '../../src/core/model/guests.ts';
import { OWNER } from '../../src/core/model/owner.ts';
import { Deferrals, type DueSend } from '../../src/core/model/ports/deferral-ports.ts';
import type { MessageSender } from '../../src/core/model/ports/sending-ports.ts';
import { OwnerSends } from '../../src/core/sender/owner-sends.ts';

const DUE: DueSend = {
  ...{ id: 'a', key_id: 'key', to: '+15550100', text: 'hello' },
  ...{ members: null, isApproved: true, begunMs: null },
};
const REQUEST = { recipient: '+15550100', body: 'hello', attachments: [] };

test('without a feature that knows guests, no key but the owner’s opens the service', () => {
  const guests = new Guests();
  expect(guests.find('postern_7f3a9c1e_secret')).toBeUndefined();
  expect(guests.callerOf('7f3a9c1e')).toBeUndefined();
  expect([guests.keptBytes(), guests.heldSends()]).toEqual([[], undefined]);
  expect(() => guests.admitDue(DUE)).toThrow(expect.objectContaining({ code: 'unauthorized' }));
  expect(guests.admitDue({ ...DUE, key_id: OWNER })()).toBeUndefined();
});

test('without such a feature, the owner’s sends go out, and a dry run is refused instead of sent', async () => {
  const sent: string[] = [];
  const sender = {
    send: async ({ body }: typeof REQUEST) => {
      sent.push(body);
      return { confirmed: false, message: {}, replayed: false };
    },
  } as unknown as MessageSender;
  const sends = new OwnerSends({ sender, deferral: new Deferrals() });
  expect(await sends.send(REQUEST)).toMatchObject({ kind: 'sent', confirmed: false });
  await expect(sends.send({ ...REQUEST, body: 'dry', dryRun: true })).rejects.toMatchObject({ code: 'not_available' });
  await expect(sends.send({ ...REQUEST, body: 'later', sendAtMs: 1 })).rejects.toMatchObject({
    code: 'invalid_request',
  });
  expect(sent).toEqual(['hello']);
});
