import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { encodeAttributedBody, type Run } from '../../src/features/simulator/typedstream.ts';

const vectors = JSON.parse(
  readFileSync(new URL('../support/typedstream-vectors.json', import.meta.url), 'utf8'),
) as readonly { readonly name: string; readonly text: string; readonly runs: readonly Run[]; readonly hex: string }[];

test.each(vectors)('attributedBody of $name, byte for byte', ({ text, runs, hex }) => {
  expect(Buffer.from(encodeAttributedBody(text, runs)).toString('hex')).toBe(hex);
});
