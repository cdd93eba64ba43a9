import { afterAll, beforeEach, expect, test } from '@jest/globals';
import type { ChangeEvent, ChangeName, Event } from '../../src/core/model/event.ts';
import type { Message } from '../../src/core/model/message.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { CHAIN_START, CHAIN_START_BODY, changesEpoch } from '../../src/features/fleet/protocol/event-message.ts';
import { ModelHub, PairFiles, START_MS } from '../support/pair-hub.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MADE = '2026-01-02T00:00:00Z';
const files = new PairFiles(temporaryFolder());
afterAll(() => files.close());

let hub: ModelHub;
let sequence = 0;
const rows = new Map<string, number>();
beforeEach(() => {
  files.empty();
  rows.clear();
  sequence = 0;
  hub = new ModelHub(files.databases[0] ?? [], files.used);
  while (hub.store.mergeStep());
  for (const mac of ['m1', 'm2']) {
    add(mac, 'c', { type: CHAIN_START, body: Buffer.from(CHAIN_START_BODY) });
    tell(mac, { type: 'message.received', data: message('text') });
  }
});

function message(body: string, status: Message['status'] = 'delivered'): Message {
  return {
    ...{ id: '1', guid: 'BOTH', conversation_id: 'any;-;+15550100', sender: '+15550100', body, attachments: [] },
    ...{ timestamp: new Date(START_MS).toISOString().replace(/\.\d+/, ''), is_from_me: false, status },
  };
}

function add(mac: string, kind: string, { type, body }: { readonly type: string; readonly body: Uint8Array }): void {
  sequence += 1;
  const previousRow = rows.get(mac + kind) ?? 0;
  const row = type === CHAIN_START ? previousRow : previousRow + 1;
  rows.set(mac + kind, row);
  const epoch = kind === 'c' ? changesEpoch(1, 'e') : 'e';
  const place = { sequence, messageId: `${mac}-${sequence}`, atMs: START_MS + sequence };
  const event = { mac, epoch, row, previousRow, previousSequence: sequence - 1, type, keyId: null, body, ...place };
  hub.store.add([event], { stream: MADE, ...place }, START_MS);
}

function tell(mac: string, event: Event | ChangeEvent): void {
  add(mac, event.type.startsWith('message.r') && 'body' in event.data ? 'r' : 'c', {
    type: event.type,
    body: Buffer.from(JSON.stringify(event)),
  });
}

function change(mac: string, changes: readonly ChangeName[], data: Message, edited_at?: string): void {
  tell(mac, { type: 'message.updated', data, changes, edited_at });
}

/** What clients are told of the message, in order. */
function told(): readonly (readonly [changes: string, body: string, status: string])[] {
  return hub.events.allEntries(rowOffset(0), rowOffset(99), 99).map(({ event }) => {
    const { body = '', status = '' } = event.data as Partial<Message>;
    return ['changes' in event ? event.changes.join() : event.type, body, status];
  });
}

const RECEIVED = ['message.received', 'text', 'delivered'] as const;
const [EARLY, LATE] = ['2026-01-02T00:00:10Z', '2026-01-02T00:00:20Z'];

test.each(['m1', 'm2'])('the later edit wins, whichever Mac shows which first: %s', (first) => {
  const second = first === 'm1' ? 'm2' : 'm1';
  change(first, ['edited'], message('early'), EARLY);
  change(second, ['edited'], message('late'), LATE);
  change(first, ['edited'], message('late'), LATE);
  expect(told()).toEqual([RECEIVED, ['edited', 'early', 'delivered'], ['edited', 'late', 'delivered']]);
});

test.each(['m1', 'm2'])('an edit that is older than one that was told is dropped: %s', (first) => {
  const second = first === 'm1' ? 'm2' : 'm1';
  change(first, ['edited'], message('late'), LATE);
  change(second, ['edited'], message('early'), EARLY);
  change(second, ['read'], message('early', 'read'));
  change(second, ['edited'], message('late'), LATE);
  expect(told()).toEqual([RECEIVED, ['edited', 'late', 'delivered'], ['read', 'late', 'read']]);
});

test('a message that one Mac has seen deleted stays deleted until one sees it restored', () => {
  change('m1', ['deleted'], message('text'));
  expect(hub.changes.isDeleted('m1', 'BOTH')).toBe(true);
  change('m2', ['read'], message('text', 'read'));
  change('m2', ['deleted'], message('text'));
  change('m1', ['restored'], message('text'));
  expect(told().map(([what]) => what)).toEqual(['message.received', 'deleted', 'read,deleted', 'restored']);
  expect(hub.changes.isDeleted('m2', 'BOTH')).toBe(false);
});
