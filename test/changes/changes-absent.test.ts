import { expect, test } from '@jest/globals';
import { ChangeStream } from '../../src/core/log/change-stream.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { type ChangeDetector, Detecting } from '../../src/core/model/ports/changes-ports.ts';
import type { MessageLog } from '../../src/core/model/ports/feed-ports.ts';

/** The change log of a service that detected changes before. */
const LOG = {
  generation: () => 3,
  newest: () => 12,
  floor: () => 0,
  changes: () => [],
  state: () => ({ isOn: true }),
};

test('without a detector, changes are refused, and none are published', () => {
  const detecting = new Detecting();
  expect(() => detecting.noteAsked()).toThrow(expect.objectContaining({ code: 'changes_disabled' }));
  expect([...detecting.printsUpTo(rowOffset(7))]).toEqual([]);
  const stream = new ChangeStream({ log: LOG, messages: {} as MessageLog, isDetected: () => detecting.isPossible });
  stream.restart(7);
  expect([stream.isOn, stream.channel, stream.generation]).toEqual([false, undefined, 3]);
});

test('a detector starts before publishing does, and hears of each request for changes', () => {
  const calls: string[] = [];
  const detector: ChangeDetector = {
    start: () => void calls.push('start'),
    noteAsked: () => void calls.push('asked'),
    printsUpTo: ({ rowId }) => new Map([[rowId, 1]]),
  };
  const detecting = new Detecting();
  detecting.doneBy(detector);
  detecting.start();
  detecting.noteAsked();
  expect(calls).toEqual(['start', 'asked']);
  expect([...detecting.printsUpTo(rowOffset(7))]).toEqual([[7, 1]]);
  const stream = new ChangeStream({ log: LOG, messages: {} as MessageLog, isDetected: () => detecting.isPossible });
  stream.restart(7);
  expect([stream.isOn, stream.channel?.last]).toEqual([true, { rowId: 7, change: 12 }]);
});
