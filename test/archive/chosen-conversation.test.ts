import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { HostContext } from '../../src/core/cli/client-context.ts';
import { openMessages } from '../../src/features/archive/messages-source.ts';
import { FEATURES } from '../../src/features/list.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { PLAIN } from '../support/plain-context.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('a name of several groups chooses none of them, and the answer lists all', async () => {
  const home = temporaryFolder();
  const fixture = new ChatFixture(join(home, 'Library/Messages/chat.db'));
  const ids = ['iMessage;+;chat1', 'iMessage;+;chat2', 'iMessage;+;chat3'];
  for (const [n, id] of ids.entries()) {
    const chat = fixture.chat(id, ['+15550100', '+15550101'], { display_name: n < 2 ? 'Family' : 'Work' });
    fixture.message({ chat, text: 'hello' });
  }
  fixture.close();
  const environment = { env: {}, platform: 'darwin', homeFolder: home, features: FEATURES };
  const context = { ...PLAIN, environment, features: FEATURES, stderr: () => undefined } as unknown as HostContext;
  const messages = await openMessages({ configDir: join(home, 'config') }, context);
  expect(await messages.conversationsOf('work')).toEqual([ids[2]]);
  expect(await messages.conversationsOf('iMessage;+;chat1')).toEqual([ids[0]]);
  await expect(messages.conversationsOf('family')).rejects.toMatchObject({
    exitCode: 65,
    lines: [
      'family is the name of more than one. Nothing was exported.',
      ...ids.slice(0, 2).map((id) => `  ${id}`),
      'Name the one that you mean by its id or its address.',
    ],
  });
  await messages.close();
});
