import { expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import type { ChangeName, LogEntry } from '../../src/core/model/event.ts';
import { kindOf } from '../../src/features/fleet/agent/event-kind.ts';

const AT = '2026-01-01T10:00:00Z';

/** An event of a change of one message, as one of its machines sees it. */
function kind(changes: readonly ChangeName[], { body = 'Hi', machine = 'one', number = 1, ...dates } = {}): string {
  const data = { id: String(number), guid: 'G-1', body };
  const entry = { rowId: number, guid: 'G-1', change: number, event: { type: 'message.updated', changes, data } };
  const none = { retracted_at: null, edited_at: null, read_at: null, delivered_at: null };
  return kindOf(entry as unknown as LogEntry, machine, { ...none, ...dates } as unknown as MessageDetails);
}

test('an edit is one event at both machines of a member, and two edits in one second are two', () => {
  const edit = (body: string, machine: string, number: number) =>
    kind(['edited'], { body, machine, number, edited_at: AT } as object);
  expect(edit('Hello', 'one', 1)).toBe(edit('Hello', 'two', 7));
  expect(edit('Hello', 'one', 1)).not.toBe(edit('Hello you', 'one', 2));
  expect(edit('Hello you', 'one', 2)).toBe(edit('Hello you', 'two', 8));
});

test.each([
  ['unsent', 'retracted_at'],
  ['read', 'read_at'],
  ['delivered', 'delivered_at'],
] as const)('%s is one event, whatever text a machine has', (change, date) => {
  const at = (body: string, machine: string) => kind([change], { body, machine, [date]: AT });
  expect(at('', 'one')).toBe(at('before', 'two'));
});

test('a change without a date that both machines know is an event of each', () => {
  expect(kind(['edited'], { machine: 'one' })).not.toBe(kind(['edited'], { machine: 'two' }));
});

test.each([undefined, 1])('rows without a guid have events of their own (change: %s)', (change) => {
  const without = (rowId: number, machine: string) => {
    const event = { type: change === undefined ? 'message.received' : 'message.removed', data: {} };
    return kindOf({ rowId, guid: '', change, event } as unknown as LogEntry, machine, undefined);
  };
  expect(new Set([without(1, 'one'), without(2, 'one'), without(1, 'two')]).size).toBe(3);
  expect(without(1, 'one')).toBe(without(1, 'one'));
});
