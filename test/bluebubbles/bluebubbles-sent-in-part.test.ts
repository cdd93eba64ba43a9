import { expect, test } from '@jest/globals';
import { problem } from '../../src/core/model/problems.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { BlueBubbles } from '../../src/features/bluebubbles/blue-bubbles.ts';
import { ANY_KEY, LIMITED_KEY } from '../support/any-key.ts';
import { HttpGateway } from '../support/http-gateway.ts';
import { listenForWire } from '../support/wire.ts';

test.each<['automation_not_allowed' | 'send_outcome_unknown', readonly string[], RegExp]>([
  ['automation_not_allowed', ['/body'], /^The text was sent, the file was not\. \S/],
  ['send_outcome_unknown', ['/body'], /^The text was sent\. It is not known/],
  ['automation_not_allowed', [], /^(?!The text)/],
])('a send that fails with %s after %j begins with what was sent', async (name, sent, words) => {
  const wire = new BlueBubbles({ version: '1', counters: new Counters() });
  const gateway = await HttpGateway.start({ limited: ANY_KEY });
  try {
    const url = await listenForWire(gateway.server, {
      keyNames: wire.keyNames,
      failure: (failure) => wire.failure(failure),
      find() {
        throw problem(name, {}, { extra: sent.length === 0 ? {} : { parts_sent: sent } });
      },
    });
    const answer = await fetch(`${url}/api/v1/message/attachment?password=${LIMITED_KEY}`);
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringMatching(words) } });
  } finally {
    await gateway.close();
  }
});
