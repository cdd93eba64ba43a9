import type { Clock } from '../../../core/model/ports/host-ports.ts';
import { problem } from '../../../core/model/problems.ts';

/** Resolves or rejects like `value`. Rejects with `broker_away` after `ms` milliseconds. */
export function withTimeLimit<Value>(value: Promise<Value>, clock: Clock, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(problem('broker_away')));
    value.then(resolve, reject).finally(cancel);
  });
}
