/** Reads one line, up to Return or the end of the input. */
export async function typedLine(input: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.includes('\n') || text.length > 100) break;
  }
  return text.split('\n', 1)[0]?.trim() ?? '';
}
