import { expect, test } from '@jest/globals';
import { entriesNamed } from '../../src/features/scheduled/commands.ts';

test('a scheduled message is named by its id, also where another id begins with it', () => {
  const entries = [{ id: 'phone-12' }, { id: 'phone-123' }, { id: 'a1' }];
  expect(entriesNamed(entries, 'phone-12')).toEqual([{ id: 'phone-12' }]);
  expect(entriesNamed(entries, 'phone-1')).toEqual([{ id: 'phone-12' }, { id: 'phone-123' }]);
  expect(entriesNamed(entries, 'b')).toEqual([]);
});
