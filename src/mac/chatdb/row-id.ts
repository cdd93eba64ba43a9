/** The row of a message id; undefined if it is no row id. */
export function rowIdOf(id: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
}
