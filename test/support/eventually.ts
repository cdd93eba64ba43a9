/**
 * Looks again and again until `check` no longer throws (or returns something other than undefined/false),
 * for as long as the test's own time limit allows. For things that other processes do.
 */
export async function eventually<Result>(
  check: () => Result | Promise<Result>,
  withinMs = 20_000,
): Promise<Exclude<Result, undefined | false>> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      const result = await check();
      if (result !== undefined && result !== false) return result as Exclude<Result, undefined | false>;
      if (performance.now() > end) throw new Error('eventually: it never came true');
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await new Promise<void>((resolve) => void setTimeout(resolve, 5));
  }
}
