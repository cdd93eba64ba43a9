import { expect, test } from '@jest/globals';
import { isAble } from '../../src/features/console/service/capable.ts';

const on = { available: true };
const off = { available: false };

test('an earlier Mac that does not list changes has them, and not what came with its name', () => {
  const earlier = { capabilities: { send: on, contacts: off } };
  expect(['changes', 'contacts', 'send_at'].map((name) => isAble(name, earlier))).toEqual([true, false, false]);
});

test('a Mac that lists its operations has only what it lists as available', () => {
  const mac = { operations: ['getStatus'], capabilities: { send_at: on, contacts: off } };
  expect(['send_at', 'contacts', 'changes'].map((name) => isAble(name, mac))).toEqual([true, false, false]);
});

test('a hub, which lists no capabilities, has changes and names', () => {
  const hub = { operations: ['getStatus'] };
  expect(['changes', 'contacts', 'send_at'].map((name) => isAble(name, hub))).toEqual([true, true, false]);
});
