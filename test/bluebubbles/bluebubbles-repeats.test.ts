import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Counters } from '../../src/core/runtime/counters.ts';
import { BlueBubbles } from '../../src/features/bluebubbles/blue-bubbles.ts';
import type { WireAnswer } from '../../src/features/bluebubbles/wire.ts';
import { AccessSending, ANA } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: AccessSending;
beforeAll(() => {
  service = new AccessSending(temporaryFolder());
});
afterAll(() => service.close());

test.each(['', null])('an equal message 11 minutes later goes out if its tempGuid is %j', async (tempGuid) => {
  const caller = service.caller({ scopes: ['read', 'send'], read: [ANA] });
  const request = { method: 'POST', path: ['api', 'v1', 'message', 'text'], caller };
  const wire = new BlueBubbles({ version: '1', counters: new Counters() });
  const post = (): Promise<WireAnswer> => {
    const body = { chatGuid: ANA, message: 'On my way', tempGuid };
    const more = { query: new URLSearchParams(), files: [], requestId: 'r' };
    return wire.find(request).answer({ ...request, ...more, body });
  };
  const before = service.texts().length;
  expect(await post()).toMatchObject({ status: 200, body: { data: { tempGuid: null } } });
  await service.clock.advance(11 * 60_000);
  expect(await post()).toMatchObject({ status: 200 });
  expect(service.texts().slice(before)).toEqual(['On my way', 'On my way']);
});
