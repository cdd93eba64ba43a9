import type { CardContent, FileContent, RunContent } from '../../client/content-types.ts';
import { detailsPart } from '../../core/details-part.ts';
import { feature } from '../../core/feature.ts';
import { RULES } from './rules.ts';

/** Decodes what a message contains besides its text: cards, polls, drawings, stickers, people and places. */
export const content = feature({
  name: 'content',
  details: detailsPart<CardContent, FileContent, RunContent>({
    rules: RULES,
    people: ({ poll }) => poll?.options.flatMap(({ votes }) => votes) ?? [],
    decoder: async () => (await import('./rows.ts')).contentDecoder,
    schemas: async () => (await import('./schemas.ts')).SCHEMAS,
  }),
});
