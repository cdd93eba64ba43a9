/** Longer than what other processes do can take on a machine with ten times the load: a limit for what never happens. */
const WITHIN_MS = 60_000;
/** Asking costs both sides something, so the longer it takes, the less often it is asked. */
const PAUSE_MS = { shortest: 5, longest: 50, share: 0.05 };

/** Repeats assertions until they hold. When time is up, the one that failed last is thrown. */
export async function eventually(assertions: () => unknown, withinMs = WITHIN_MS): Promise<void> {
  const start = performance.now();
  for (;;) {
    try {
      await assertions();
      return;
    } catch (error) {
      if (performance.now() - start > withinMs) throw error;
    }
    const { shortest, longest, share } = PAUSE_MS;
    const pause = Math.min(longest, Math.max(shortest, (performance.now() - start) * share));
    await new Promise<void>((resolve) => void setTimeout(resolve, pause));
  }
}

/** Asks for a value until it is neither undefined nor false and asking does not throw. A failure quotes the question. */
export async function waitFor<Value>(
  ask: () => Value | Promise<Value>,
  withinMs = WITHIN_MS,
): Promise<Exclude<Value, undefined | false>> {
  let found: Exclude<Value, undefined | false> | undefined;
  await eventually(async () => {
    const value = await ask();
    if (value === undefined || value === false) throw new Error(`still ${String(value)}: ${ask.toString()}`);
    found = value as Exclude<Value, undefined | false>;
  }, withinMs);
  return found as Exclude<Value, undefined | false>;
}
