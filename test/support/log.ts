import type { Log } from '../../src/core/model/ports/host-ports.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Returns a log that keeps its lines for the test. */
export function collectingLog(
  lines: LogLine[] = [],
  base: Readonly<Record<string, unknown>> = {},
): Log & { readonly lines: LogLine[] } {
  const at =
    (level: LogLine['level']) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      lines.push({ level, message, fields: { ...base, ...fields } });
    };
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => collectingLog(lines, { ...base, ...fields }),
  };
}
