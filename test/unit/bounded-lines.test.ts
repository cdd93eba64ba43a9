import { expect, test } from '@jest/globals';
import { boundedLines } from '../../src/core/runtime/bounded-lines.ts';

async function linesOf(chunks: readonly string[], maxBytes = 10): Promise<readonly (string | undefined)[]> {
  async function* input(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const lines: (string | undefined)[] = [];
  for await (const line of boundedLines(input(), maxBytes)) lines.push(line);
  return lines;
}

test('lines are whole, however the bytes come', async () => {
  expect(await linesOf(['a', 'b\nc\n', '\n', 'Grü', 'ße'])).toEqual(['ab', 'c', 'Grüße']);
  expect(await linesOf(['\r\n\r', '\n\n', 'a\r\n'])).toEqual(['\r', 'a\r']);
  expect(await linesOf(Array.from('aé\nb\n', (one) => one))).toEqual(['aé', 'b']);
});

test('a line that is too long is one mistake, and the next one is read', async () => {
  expect(await linesOf(['0123456789\n01234567890\nok\n', 'x'.repeat(1000), '\nend'])).toEqual([
    '0123456789',
    undefined,
    'ok',
    undefined,
    'end',
  ]);
});
