const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Yields the non-empty lines of a stream without their line breaks; undefined in place of a line of more than
 * `maxBytes`.
 */
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
    const [first, ...others] = parts;
    const whole = first !== undefined && others.length === 0 ? asBuffer(first) : Buffer.concat(parts);
    const line = bytes > maxBytes ? undefined : whole.toString('utf8');
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const isEmpty = bytes === 0 && (end === from || (end === from + 1 && chunk[from] === RETURN));
      if (!isEmpty) {
        add(chunk.subarray(from, end));
        yield take();
      }
      from = end + 1;
    }
    add(chunk.subarray(from));
  }
  if (bytes > 0) yield take();
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
