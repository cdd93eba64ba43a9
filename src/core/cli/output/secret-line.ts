import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/**
 * Reads one line that a terminal does not show. The line may be longer than macOS's limit of 1,024 bytes (MAX_CANON),
 * because readline uses raw mode. Returns "" at the end of the input, and after Ctrl+C or Ctrl+D.
 */
export async function secretLine(
  prompt: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
): Promise<string> {
  const isTerminal = input.isTTY;
  if (isTerminal) output.write(prompt);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: isTerminal });
  lines.on('SIGINT', () => lines.close());
  try {
    const found = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    return String(found[0] ?? '');
  } finally {
    lines.close();
    input.pause();
    if (isTerminal) output.write('\n');
  }
}
