/** Formats Unix milliseconds as the API writes them: UTC, truncated to the second, such as `2026-05-01T09:30:00Z`. */
export function isoSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
