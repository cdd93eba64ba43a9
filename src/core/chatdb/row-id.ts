/** Returns the row id that a message id stands for; undefined if the id does not have the form of a row id. */
export function rowIdOf(id: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
}
