import type { Context } from '../../core/cli/context.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';

/** The progress of a piece of work. */
export interface Work {
  readonly doing: string;
  readonly done: number;
  readonly total: number;
  /** The unit counted, such as `messages`. */
  readonly unit: string;
}

const BAR_COLUMNS = 20;

/** Returns a function that shows the progress, speed and remaining time of some work on a terminal. */
export function progressOf<Step>(
  { progress }: Pick<Context, 'progress'>,
  clock: Clock,
  workOf: (step: Step) => Work,
): (step: Step) => void {
  let startMs = clock.monotonic();
  let before = '';
  return (step) => {
    const work = workOf(step);
    if (work.doing !== before) startMs = clock.monotonic();
    before = work.doing;
    progress(progressText(work, clock.monotonic() - startMs));
  };
}

/**
 * Returns, for example, `Exporting [#####---------------] 25 %, 250,000 of 1,000,000 messages, 20,000 a second, 38 s
 * left`.
 */
function progressText({ doing, done, total, unit }: Work, elapsedMs: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(BAR_COLUMNS - filled)}]`;
  const rate = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const left = rate > 0 ? `, ${stretch(Math.max(0, total - done) / rate)} left` : '';
  const count = (value: number): string => Math.round(value).toLocaleString('en');
  return `${doing} ${bar} ${Math.floor(share * 100)} %, ${count(done)} of ${count(total)} ${unit}, ${count(rate)} a second${left}`;
}

function stretch(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
