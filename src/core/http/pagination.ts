/** Returns the `Postern-Partial` header, which names the Macs whose items a hub's list lacks (decision N1). */
export function partialHeader({
  missing = [],
}: {
  readonly missing?: readonly string[];
}): Readonly<Record<string, string>> {
  return missing.length === 0 ? {} : { 'Postern-Partial': missing.join(', ') };
}
