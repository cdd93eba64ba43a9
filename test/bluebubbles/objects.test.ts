import { expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { messageObject } from '../../src/features/bluebubbles/objects.ts';
import { CONVERSATION, MESSAGE } from '../support/http-gateway.ts';

test.each([true, false])('a file is outgoing if its message is: %s', (isFromMe) => {
  const attachments = [{ name: 'a.txt', mime_type: 'text/plain', bytes: 2 }];
  const details = { attachments } as unknown as MessageDetails;
  const { attachments: shown } = messageObject({ ...MESSAGE, is_from_me: isFromMe, details }, CONVERSATION);
  expect(shown).toMatchObject([{ guid: 'at_0_7', isOutgoing: isFromMe }]);
});
