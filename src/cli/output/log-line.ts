import type { Context } from '../context.ts';
import type { Style } from './style.ts';
import { oneLine } from './text.ts';
import { shownTime } from './time.ts';

const STYLES: Readonly<Record<string, Style>> = { warn: 'yellow', error: 'red', fatal: 'red', debug: 'dim' };

/** A log line for a person. Lines in any other format stay unchanged. */
export function logLine(line: string, { paint }: Pick<Context, 'paint'>, nowMs: number): string {
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
    return typeof value === 'object' && value !== null && 'level' in value ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
