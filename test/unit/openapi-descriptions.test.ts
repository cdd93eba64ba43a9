import { expect, test } from '@jest/globals';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import { OPERATIONS } from '../../src/core/http/openapi/operations.ts';
import { ROUTES, type RouteId } from '../../src/core/schema/routes.ts';

const IDS = Object.keys(ROUTES) as RouteId[];

test('every operation has a description of two to four sentences', () => {
  const sentences = IDS.map((id) => {
    const text: string = OPERATIONS[id].description;
    return [id, text.split(/[.!?](?:\s+|$)/).filter((part) => part.trim() !== '').length] as const;
  });
  expect(sentences.filter(([, count]) => count < 2 || count > 4)).toEqual([]);
});

test('the OpenAPI document is for its readers: no numbers of decisions, no pattern that fills a page', () => {
  const text = JSON.stringify(openApi('1.2.3'));
  expect(text).not.toMatch(/\b[Dd]ecisions? [A-Z]\d|\([A-Z]\d{1,2}\)/);
  expect([...text.matchAll(/"pattern":"[^"]{100,}"/g)]).toEqual([]);
});
