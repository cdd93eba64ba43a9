/** The row that the id of a message means; undefined for what is no row id. */
export function rowIdOf(id: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
}
