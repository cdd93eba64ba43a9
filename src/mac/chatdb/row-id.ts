/** Returns the row of a message id; undefined if the id is not a row id. */
export function rowIdOf(id: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
}
