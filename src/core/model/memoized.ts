const MAX_RESULTS = 4000;
const MAX_UNITS = 60;

/**
 * Returns `answer` with a cache of up to 4000 results. Results for texts of more than 60 UTF-16 units are not cached,
 * and a full cache is emptied. The result must depend only on the text.
 */
export function memoized(answer: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = answer(text);
    if (text.length > MAX_UNITS) return made;
    if (known.size >= MAX_RESULTS) known.clear();
    known.set(text, made);
    return made;
  };
}
