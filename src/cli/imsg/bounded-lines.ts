const NEWLINE = 0x0a;

/** Yields the lines of a stream, without their ends; undefined in place of a line of more than `maxBytes`. */
export async function* boundedLines(
  input: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string | undefined, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const add = (part: Uint8Array): void => {
    bytes += part.length;
    if (bytes > maxBytes) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const take = (): string | undefined => {
    const line = bytes > maxBytes ? undefined : Buffer.concat(parts).toString('utf8');
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    add(chunk.subarray(from));
  }
  if (bytes > 0) yield take();
}
