import { expect, test } from '@jest/globals';
import { addedRules } from '../../src/core/details-part.ts';
import type { MessageDetails } from '../../src/core/model/details.ts';
import { includeSet } from '../../src/core/model/include.ts';
import type { Message } from '../../src/core/model/message.ts';
import type { ChatDirectory } from '../../src/core/model/ports/directory-ports.ts';
import type { MessageReader } from '../../src/core/model/ports/reading-ports.ts';
import type { Reaction } from '../../src/core/model/reaction.ts';
import type { StatusReport } from '../../src/core/model/status.ts';
import { limitedReader } from '../../src/features/access/limited-reader.ts';
import { type KeyRules, narrowed } from '../../src/features/access/narrowing.ts';
import { ReadableChats } from '../../src/features/access/readable.ts';
import { type RowRules, shownRows } from '../../src/features/access/shown-messages.ts';
import { statusRules } from '../../src/features/access/shown-status.ts';
import { FEATURES } from '../../src/features/list.ts';

interface Shape {
  readonly plain: string;
  readonly deep?: readonly { readonly inner: string }[] | undefined;
  readonly secret?: string | undefined;
}
const RULES: KeyRules<Shape> = { plain: 'shown', deep: { inner: 'shown' }, secret: 'hidden' };
/** A key that may read everything. */
const chats = new ReadableChats(() => '*', {} as ChatDirectory);

test('a limited key sees no member that has no rule, however deep', () => {
  const value = { plain: 'a', later: 'b', secret: 'c', deep: [{ inner: 'd', later: 'e' }], toString: 'f' };
  expect(narrowed<Shape>(value, RULES, chats)).toEqual({ plain: 'a', deep: [{ inner: 'd' }] });
});

test('a member without a rule does not compile, however deep', () => {
  const { secret: _secret, ...shallow } = RULES;
  // @ts-expect-error: `secret` has no rule.
  const first: KeyRules<Shape> = shallow;
  // @ts-expect-error: `inner` has no rule.
  const second: KeyRules<Shape> = { ...RULES, deep: {} };
  // @ts-expect-error: only values without members are shown as they are.
  const third: KeyRules<Shape> = { ...RULES, deep: 'shown' };
  expect([first, second, third]).toHaveLength(3);
});

test('a rule that events could not follow does not compile: they share one text of a message', () => {
  const { message } = shownRows(addedRules(FEATURES));
  // @ts-expect-error: events would show it.
  const hidden: RowRules<Message> = { ...message, details_left_out: 'hidden' };
  // @ts-expect-error: events would show it as it is.
  const changed: RowRules<Message> = { ...message, body: (body) => body.slice(0, 10) };
  // @ts-expect-error: the same for reactions.
  const part: RowRules<Reaction>['part'] = 'hidden';
  expect([hidden, changed, part]).toHaveLength(3);
});

test('a key that reads everything sees neither keys nor members that nobody placed', () => {
  const origin = { by: 'gateway', request_id: 'r', key_id: 'k' };
  const details = { kind: 'message', origin, reactions: [], later: 1 } as unknown as MessageDetails;
  expect(narrowed(details, shownRows(addedRules(FEATURES)).messageDetails, chats)).toEqual({
    kind: 'message',
    origin: { by: 'gateway', request_id: 'r' },
    reactions: [],
  });
  const status = { version: '1', held_sends: 2, problems: [], later: 3, webhooks: [{ id: 'w' }, { id: 'x' }] };
  expect(narrowed(status as unknown as StatusReport, statusRules(new Set(['w'])), chats)).toEqual({
    version: '1',
    webhooks: [{ id: 'w' }],
  });
});

test('a key sees a member that a feature adds only by the rule of the feature', () => {
  const card = { kind: 'link', link: { type: 'page', url: 'https://example.org/' }, reactions: [] };
  const details = card as unknown as MessageDetails;
  expect(narrowed(details, shownRows(addedRules(FEATURES)).messageDetails, chats)).toEqual(card);
  expect(narrowed(details, shownRows(addedRules([])).messageDetails, chats)).toEqual({ kind: 'link', reactions: [] });
});

test('a conversation that the key may not read is refused unread, so that the time reveals nothing', async () => {
  const chat = { guid: 'any;-;+15550101', isGroup: false, members: ['+15550101'] };
  const directory = { version: () => 0, meant: () => [chat], chat: () => chat } as unknown as ChatDirectory;
  const read: string[] = [];
  const reader = { conversation: async (id: string) => void read.push(id) } as unknown as MessageReader;
  const limited = limitedReader({
    ...{ reader, directory, shown: shownRows(addedRules(FEATURES)), onRead: () => undefined },
    chats: new ReadableChats(() => [{ address: '+15550100' }], directory),
  });
  expect(await limited.conversation(chat.guid)).toBeUndefined();
  expect(read).toEqual([]);
});

test('marks are those of rows that the key may read, whichever it asks for', () => {
  const [own, other] = ['+15550100', '+15550101'].map((member) => ({ guid: `any;-;${member}`, members: [member] }));
  const chat = (guid: string) => ({ isGroup: false, ...(guid === own?.guid ? own : other) });
  const guidOf = (rowId: number): string => (rowId === 1 ? own : other)?.guid ?? '';
  const directory = {
    ...{ version: () => 0, chat, conversationOf: guidOf },
    chatsOfRows: (rowIds: readonly number[]) => new Map(rowIds.map((rowId) => [rowId, [guidOf(rowId)]])),
  } as unknown as ChatDirectory;
  const marks: MessageReader['marks'] = (_what, ids) => new Map(ids.map((id) => [id, {}]));
  const limited = limitedReader({
    ...{
      reader: { marks } as MessageReader,
      directory,
      shown: shownRows(addedRules(FEATURES)),
      onRead: () => undefined,
    },
    chats: new ReadableChats(() => [{ address: '+15550100' }], directory),
  });
  expect([...limited.marks('messages', ['1', '2']).keys()]).toEqual(['1']);
  expect([...limited.marks('conversations', [guidOf(1), guidOf(2)]).keys()]).toEqual([guidOf(1)]);
});

test('the details of a message that the key may not read stay unread, so that the time reveals nothing', async () => {
  const chat = { guid: 'any;-;+15550101', isGroup: false, members: ['+15550101'] };
  const chatsOfRows = () => new Map([[1, [chat.guid]]]);
  const directory = {
    version: () => 0,
    meant: () => [chat],
    chat: () => chat,
    chatsOfRows,
  } as unknown as ChatDirectory;
  const includes: unknown[] = [];
  const message = async (_id: string, { include }: { readonly include?: unknown } = {}) => {
    includes.push(include);
    return { id: '1', conversation_id: chat.guid };
  };
  const limited = limitedReader({
    ...{ reader: { message } as unknown as MessageReader, directory },
    ...{ shown: shownRows(addedRules(FEATURES)), onRead: () => undefined },
    chats: new ReadableChats(() => [{ address: '+15550100' }], directory),
  });
  expect(await limited.message('1', { include: includeSet(['details']) })).toBeUndefined();
  expect(includes).toEqual([undefined]);
});
