import { describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { Conversation } from '../../src/core/model/conversation.ts';
import { ConversationWalks } from '../../src/features/bluebubbles/conversation-walks.ts';

/** A key whose conversations the test can put into another order, or take away. */
function callerWith(count: number): { readonly caller: Caller; readonly ids: string[] } {
  const ids = Array.from({ length: count }, (_, n) => `any;-;+1555${String(n).padStart(4, '0')}`);
  const conversation = (id: string): Conversation => ({
    id,
    display_name: null,
    participants: [],
    last_message_at: '2026-01-01T00:00:00Z',
  });
  const reader: Pick<Caller['reader'], 'listConversations' | 'conversation' | 'marks'> = {
    listConversations: async ({ limit, offset }) => ({ items: ids.slice(offset, offset + limit).map(conversation) }),
    conversation: async (id) => (ids.includes(id) ? conversation(id) : undefined),
    marks: () => new Map(),
  };
  return { caller: { reader } as unknown as Caller, ids };
}

describe('a walk over conversations', () => {
  test('by the step of OpenClaw meets each conversation once, while messages arrive, and knows the total', async () => {
    const { caller, ids } = callerWith(620);
    const all = [...ids];
    const walks = new ConversationWalks();
    const seen: string[] = [];
    for (let offset = 0; ; offset += 500) {
      const { items, total } = await walks.page(caller, offset, 500);
      expect(total).toBe(620);
      if (items.length === 0) break;
      seen.push(...items.map(({ id }) => id));
      // A message arrives in the conversation that was last.
      ids.unshift(...ids.splice(-1));
    }
    expect(seen).toEqual(all);
  });

  test('that begins again sees the present order, and leaves out what is gone since', async () => {
    const { caller, ids } = callerWith(300);
    const walks = new ConversationWalks();
    await walks.page(caller, 0, 100);
    const [gone = ''] = ids.splice(150, 1);
    const { items, total } = await walks.page(caller, 100, 100);
    expect([items.length, total, items.some(({ id }) => id === gone)]).toEqual([99, 300, false]);
    expect((await walks.page(caller, 0, 1000)).items.map(({ id }) => id)).toEqual(ids);
  });

  test('counts once, however many pages it has, but only while its pages are large and go forward', async () => {
    const { caller } = callerWith(250);
    const walks = new ConversationWalks();
    const isContinued = async (offset: number, limit: number) => (await walks.page(caller, offset, limit)).isContinued;
    expect([await isContinued(0, 100), await isContinued(100, 100), await isContinued(200, 100)]).toEqual([
      false,
      true,
      true,
    ]);
    // The empty page ends the walk.
    expect([await isContinued(300, 100), await isContinued(400, 100)]).toEqual([true, false]);
    await walks.page(caller, 0, 200);
    expect([await isContinued(100, 100), await isContinued(200, 10)]).toEqual([false, false]);
    const { caller: another } = callerWith(250);
    expect((await walks.page(another, 100, 100)).isContinued).toBe(false);
  });
});
