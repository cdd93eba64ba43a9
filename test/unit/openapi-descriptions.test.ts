import { expect, test } from '@jest/globals';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import { ALL_DOCUMENTS, ALL_OPERATIONS } from '../support/all-operations.ts';

const IDS = Object.keys(ALL_OPERATIONS);

test('every operation has a description of two to four sentences', () => {
  const sentences = IDS.map((id) => {
    const text: string = ALL_OPERATIONS[id]?.description ?? '';
    return [id, text.split(/[.!?](?:\s+|$)/).filter((part) => part.trim() !== '').length] as const;
  });
  expect(sentences.filter(([, count]) => count < 2 || count > 4)).toEqual([]);
});

test('the OpenAPI document is for its readers: no numbers of decisions, no pattern that fills a page', () => {
  const text = JSON.stringify(openApi('1.2.3', ALL_DOCUMENTS));
  expect(text).not.toMatch(/\b[Dd]ecisions? [A-Z]\d|\([A-Z]\d{1,2}\)/);
  expect([...text.matchAll(/"pattern":"[^"]{100,}"/g)]).toEqual([]);
});
