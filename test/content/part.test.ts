import { expect, test } from '@jest/globals';
import type { FileContent } from '../../src/client/content-types.ts';
import { detailsPart } from '../../src/core/details-part.ts';
import { contentDecoder } from '../../src/features/content/rows.ts';
import { RULES } from '../../src/features/content/rules.ts';
import { SCHEMAS } from '../../src/features/content/schemas.ts';

interface Quiet {
  readonly quiet?: true | undefined;
  readonly by?: { readonly address: string } | undefined;
}

test('a member without a rule for keys, or without a schema, does not compile', () => {
  const decoder = () => Promise.resolve(contentDecoder);
  const others = { file: RULES.file, run: {} };
  const schemas = () => Promise.resolve({ ...SCHEMAS, row: {}, run: {} });
  const parts = [
    // @ts-expect-error: `by` has no rule.
    detailsPart<Quiet, FileContent, object>({ decoder, schemas, rules: { ...others, row: { quiet: 'shown' } } }),
    // @ts-expect-error: neither member has a schema.
    detailsPart<Quiet, FileContent, object>({ decoder, schemas, rules: { ...others, row: QUIET } }),
    detailsPart<object, FileContent, object>({ decoder, schemas, rules: { ...others, row: {} } }),
  ];
  expect(parts).toHaveLength(3);
});

const QUIET = { quiet: 'shown', by: { address: 'shown' } } as const;
