/** Returns a time in milliseconds since 1970 as the API writes it: UTC, whole seconds, such as `2026-05-01T09:30:00Z`. */
export function isoSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
