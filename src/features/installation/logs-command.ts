import { layoutOf } from '../../../installer/install-layout.ts';
import { installLine } from '../../../installer/install-line.ts';
import type { ClientContext } from '../../core/cli/client-context.ts';
import type { Context } from '../../core/cli/context.ts';
import type { Style } from '../../core/cli/output/style.ts';
import { jsonLine, oneLine } from '../../core/cli/output/text.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import { AppError } from '../../core/model/errors.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { pause, systemClock } from '../../core/runtime/clock.ts';
import { endOfLog, type LogPosition, logSince } from './log-tail.ts';
import { reportErrors } from './on-this-machine.ts';

export interface LogsOptions {
  readonly follow?: boolean;
  readonly lines?: number;
  readonly errors?: boolean;
  readonly json?: boolean;
}

const LOOK_EVERY_MS = 250;

/** `postern logs`: prints the end of the installed agent's log, and with `follow` every new line. */
export function logs(options: LogsOptions, context: ClientContext, clock: Clock = systemClock): Promise<number> {
  return reportErrors(show(options, context, clock), context);
}

async function show(
  { follow = false, lines = 50, errors = false, json = false }: LogsOptions,
  context: ClientContext,
  clock: Clock,
): Promise<void> {
  const { platform, homeFolder } = context.environment;
  if (platform !== 'darwin') {
    throw new AppError('not_a_mac', 'There is no log file. Only the agent of an installation on a Mac writes one.', {
      hint: 'postern serve and postern demo write their log to the terminal or the program that started them.',
    });
  }
  const file = layoutOf(homeFolder).logFiles[errors ? 1 : 0];
  const print = async (found: readonly string[]): Promise<void> => {
    for (const line of found) await context.writeLine(json ? jsonLine(line) : logLine(line, context, clock.now()));
  };
  const end = endOfLog(file, lines);
  if (end === undefined && !follow) {
    throw new AppError('no_log', `There is no ${file}.`, {
      hint: `Postern has not run yet. Install it: ${installLine()}`,
    });
  }
  await print(end?.lines ?? []);
  let position: LogPosition | undefined = end?.position;
  const signal = follow ? context.untilEnded() : AbortSignal.abort();
  while (!signal.aborted) {
    await pause(clock, LOOK_EVERY_MS, signal);
    const more = logSince(file, position);
    position = more.position;
    await print(more.lines);
  }
}

const STYLES: Readonly<Record<string, Style>> = lookupTable({
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
  debug: 'dim',
});

/** Formats a log line for people. Lines in any other format stay unchanged. */
function logLine(line: string, { paint }: Pick<Context, 'paint'>, nowMs: number): string {
  const entry = parsed(line);
  if (entry === undefined) return oneLine(line);
  const { time, level, msg, ...fields } = entry;
  const details = Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
  const what = [
    oneLine(typeof msg === 'string' ? msg : ''),
    ...(details === '' ? [] : [paint('dim', oneLine(details))]),
  ].join('  ');
  const when = typeof time === 'string' ? shownTime(time, nowMs) : '';
  return `${paint('dim', when)} ${paint(STYLES[String(level)], oneLine(String(level)).toUpperCase().padEnd(5))} ${what}`;
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    const { level, time }: { level?: unknown; time?: unknown } = value;
    return typeof level === 'string' && typeof time === 'string' && !Number.isNaN(Date.parse(time))
      ? { ...value }
      : undefined;
  } catch {
    return undefined;
  }
}
