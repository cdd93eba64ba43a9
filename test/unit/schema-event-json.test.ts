import { expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { includeSet, NO_INCLUDES } from '../../src/core/model/include.ts';
import { encodeOffset, rowOffset } from '../../src/core/model/offset.ts';
import type { NameLookup } from '../../src/core/model/ports/names-ports.ts';
import type { Reaction, ReactionDetails } from '../../src/core/model/reaction.ts';
import { eventSerializer } from '../../src/core/schema/event-json.ts';

const message = {
  id: '7',
  guid: 'G7',
  conversation_id: 'any;-;+15550100',
  sender: '+15550199',
  body: 'Hello',
  attachments: [],
  timestamp: '2026-01-02T03:04:05Z',
  is_from_me: true,
  status: 'sent',
} as const;
const entry: LogEntry = {
  offset: rowOffset(7),
  rowId: 7,
  guid: 'G7',
  event: { type: 'message.sent', data: message },
};
const details = { service: 'SMS', reply_to: null, reactions: [{ sender: '+15550102' }] } as unknown as MessageDetails;
const ana: NameLookup = { nameOf: (address) => ({ '+15550100': 'Ana', '+15550102': 'Bo' })[address] };

function data(text: string): unknown {
  return (JSON.parse(text) as { data: unknown }).data;
}

test('an event has what was asked for and nothing else', async () => {
  const json = eventSerializer({ details: () => Promise.resolve(details), names: () => ana, offsetText: encodeOffset });
  expect(data(await json(entry, NO_INCLUDES))).toEqual(message);
  expect(data(await json(entry, includeSet(['details'])))).toEqual({ ...message, details });
  expect(data(await json(entry, includeSet(['contacts'])))).toEqual({ ...message, names: { '+15550100': 'Ana' } });
  expect(data(await json(entry, includeSet(['contacts', 'details'])))).toEqual({
    ...message,
    details,
    names: { '+15550100': 'Ana', '+15550102': 'Bo' },
  });
});

test('an event is serialised once for each combination, until the names are loaded again', async () => {
  let reads = 0;
  let names = ana;
  const json = eventSerializer({
    details() {
      reads += 1;
      return Promise.resolve(details);
    },
    names: () => names,
    offsetText: encodeOffset,
  });
  const both = includeSet(['details', 'contacts']);
  const first = await json(entry, both);
  expect(await json(entry, both)).toBe(first);
  expect(reads).toBe(1);
  names = { nameOf: () => 'Anna' };
  expect(data(await json(entry, both))).toMatchObject({ names: { '+15550100': 'Anna', '+15550102': 'Anna' } });
  expect(await json(entry, NO_INCLUDES)).not.toContain('Ann');
});

test('an address that is a word of JavaScript has no name and does no harm', async () => {
  const odd = { ...message, sender: '__proto__', is_from_me: false };
  const json = eventSerializer({
    details: () => Promise.resolve(undefined),
    names: () => ({ nameOf: (address) => `at ${address}` }),
    offsetText: encodeOffset,
  });
  const text = await json({ ...entry, event: { type: 'message.received', data: odd } }, includeSet(['contacts']));
  expect(data(text)).toEqual({ ...odd, names: { '+15550100': 'at +15550100' } });
});

test('for readers with changes the offset is the last member, and without it nothing changes, to the byte', async () => {
  const json = eventSerializer({ details: () => Promise.resolve(details), names: () => ana, offsetText: encodeOffset });
  const tracked = { ...entry, offset: { rowId: 7, change: 3 }, generation: 2 };
  const offset = encodeOffset({ rowId: 7, change: 3 }, 2);
  expect(await json(entry, NO_INCLUDES)).toBe(JSON.stringify(entry.event));
  expect(await json(tracked, NO_INCLUDES)).toBe(JSON.stringify({ ...entry.event, offset }));
  const updated = { type: 'message.updated', data: message, changes: ['edited', 'read'] } as const;
  expect(await json({ ...tracked, change: 3, event: updated }, NO_INCLUDES)).toBe(
    JSON.stringify({ ...updated, offset }),
  );
  const both = await json({ ...tracked, change: 3, event: updated }, includeSet(['contacts', 'details']));
  expect(JSON.parse(both)).toEqual({
    ...updated,
    data: { ...message, details, names: { '+15550100': 'Ana', '+15550102': 'Bo' } },
    offset,
  });
});

test('removals and summaries have nothing to include', async () => {
  const json = eventSerializer({ details: () => Promise.resolve(details), names: () => ana, offsetText: encodeOffset });
  const all = includeSet(['contacts', 'details']);
  const removed = { type: 'message.removed', data: { id: '7', guid: '', conversation_id: '' } } as const;
  const many = { type: 'messages.changed', data: { first_id: '1', last_id: '9', count: 8 } } as const;
  for (const event of [removed, many]) expect(await json({ ...entry, event }, all)).toBe(JSON.stringify(event));
});

test('a row that is shown as a reaction says with details what it is, and without them nothing', async () => {
  const reaction: Reaction = {
    id: '7',
    guid: 'G-7',
    conversation_id: 'any;-;+15550100',
    sender: '+15550100',
    is_from_me: false,
    reaction_type: 'other',
    emoji: null,
    message_id: '',
    message_guid: '',
    timestamp: '2026-01-01T00:00:00Z',
    associated_message_type: 2,
  };
  const entryOf = (data: Reaction): LogEntry => ({
    offset: rowOffset(7),
    rowId: 7,
    guid: 'G-7',
    event: { type: 'reaction.added', data },
  });
  const json = eventSerializer({
    details: () => Promise.resolve(details),
    reactionDetails: ({ associated_message_type: type }) =>
      Promise.resolve(type === 2 ? { kind: 'app', sentence: 'Games' } : undefined),
    names: () => ana,
    offsetText: encodeOffset,
  });
  const withDetails = includeSet(['details']);
  expect(data(await json(entryOf(reaction), withDetails))).toEqual({
    ...reaction,
    details: { kind: 'app', sentence: 'Games' },
  });
  expect(data(await json(entryOf(reaction), NO_INCLUDES))).toEqual(reaction);
  const tapback = { ...reaction, associated_message_type: 2000 };
  expect(data(await json(entryOf(tapback), withDetails))).toEqual(tapback);
  const reactionDetails = ({ kind, sentence }: ReactionDetails) => ({ kind, sentence: `${sentence}, narrowed` });
  const view = { names: ana, details: (all: MessageDetails) => all, reactionDetails };
  expect(data(await json(entryOf(reaction), withDetails, view))).toEqual({
    ...reaction,
    details: { kind: 'app', sentence: 'Games, narrowed' },
  });
});
