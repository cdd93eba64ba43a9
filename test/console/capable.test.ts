import { expect, test } from '@jest/globals';
import { isAble } from '../../src/features/console/service/capable.ts';

const on = { available: true };
const off = { available: false };

test('a Mac has only what it lists as available', () => {
  const mac = { capabilities: { send_at: on, contacts: off } };
  expect(['send_at', 'contacts', 'changes'].map((name) => isAble(name, mac))).toEqual([true, false, false]);
});

test('a hub, which lists no capabilities, has changes and names', () => {
  expect(['changes', 'contacts', 'send_at'].map((name) => isAble(name, {}))).toEqual([true, true, false]);
});
