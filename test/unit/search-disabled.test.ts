import { expect, test } from '@jest/globals';
import type { SearchQuery } from '../../src/domain/search.ts';
import { disabledSearch } from '../../src/search/disabled.ts';

const EVERYTHING: SearchQuery = { terms: [], excluded: [], senders: [], conversations: [], hasAttachment: false };

test('search that is switched off says what to set', async () => {
  expect(disabledSearch.status().isEnabled).toBe(false);
  await expect(disabledSearch.search(EVERYTHING, { limit: 1 })).rejects.toMatchObject({
    status: 404,
    code: 'search_disabled',
    hint: expect.stringContaining('search.enabled = true'),
  });
});
