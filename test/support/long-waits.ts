/** Returns waits before retries that outlast any test, and counts how many have begun. */
export function longWaits(): { readonly ms: readonly number[]; readonly begun: number } {
  let begun = 0;
  const ms = new Proxy([60_000, 60_000], {
    get(waits, name) {
      if (name === '0' || name === '1') begun += 1;
      return Reflect.get(waits, name) as unknown;
    },
  });
  return {
    ms,
    get begun() {
      return begun;
    },
  };
}
