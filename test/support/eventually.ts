/** Time limit for something that never happens: longer than anything takes on a machine with ten times the load. */
const WITHIN_MS = 60_000;
/** Each attempt costs both sides something, so the pauses grow. */
const PAUSE_MS = { shortest: 5, longest: 50, share: 0.05 };

/** Repeats assertions until they hold. Throws the last failure when time is up. */
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

/**
 * Repeats a question until its answer is neither undefined nor false and it does not throw. A failure quotes the
 * question.
 */
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
