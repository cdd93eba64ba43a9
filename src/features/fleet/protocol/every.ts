import type { Cancel, Clock } from '../../../core/model/ports/host-ports.ts';

/** Does `work` again and again, each time `ms` milliseconds after the last one ended, until it is cancelled. */
export function every(clock: Clock, ms: number, work: () => unknown): Cancel {
  let isOver = false;
  let cancel: Cancel = () => {};
  const turn = async (): Promise<void> => {
    await work();
    if (!isOver) cancel = clock.after(ms, () => void turn());
  };
  cancel = clock.after(ms, () => void turn());
  return () => {
    isOver = true;
    cancel();
  };
}
