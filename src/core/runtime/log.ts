import pino from 'pino';
import { errorCode } from '../model/errors.ts';
import type { Log } from '../model/ports/host-ports.ts';
import { redact } from './redaction.ts';

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** True to write human-readable lines instead of one JSON object per line (decision A6). */
  readonly isTerminal: boolean;
  /** The file descriptor to write to. Default: 1, stdout. */
  readonly fd?: number;
}

/** The log of a whole process. */
export interface ProcessLog extends Log {
  /** Logs the reason why the process ends. */
  fatal(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Resolves once all lines logged so far are written, or writing fails. */
  drained(): Promise<void>;
  /** Writes all pending lines synchronously, for a process that ends immediately. */
  flush(): void;
}

/** Maximum number of bytes kept in memory while the reader of the log does not read. Further lines are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

export async function openLog({ level, isTerminal, fd = 1 }: LogOptions): Promise<ProcessLog> {
  const destination = pino.destination({ dest: fd, sync: isTerminal, maxLength: MAX_WAITING_BYTES });
  let isWriting = false;
  let isClosed = false;
  destination.on('drain', () => {
    isWriting = false;
  });
  // An error here must not end the service: its log may be on a full disk, or its pipe closed.
  destination.on('error', (error: unknown) => {
    isWriting = false;
    isClosed ||= errorCode(error) === 'EPIPE';
  });
  const lines = {
    write(line: string): void {
      isWriting = !isTerminal && !isClosed;
      destination.write(line);
    },
  };
  const stream = isTerminal
    ? (await import('pino-pretty')).default({
        destination,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss',
        singleLine: true,
      })
    : lines;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
    },
    stream,
  );
  return {
    ...logThrough(logger, level === 'debug'),
    fatal: (message, fields) => write(logger, 'fatal', level === 'debug', message, fields),
    async drained() {
      if (isWriting) await new Promise<void>((done) => destination.once('drain', done).once('error', () => done()));
    },
    flush() {
      try {
        destination.flushSync();
      } catch {
        // The log's destination is gone.
      }
    },
  };
}

function logThrough(logger: pino.Logger, showsAddresses: boolean): Log {
  const at =
    (level: Level): Log['info'] =>
    (message, fields) =>
      write(logger, level, showsAddresses, message, fields);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => logThrough(logger.child(redact(fields, { showsAddresses, showsStacks: false })), showsAddresses),
  };
}

function write(
  logger: pino.Logger,
  level: Level,
  showsAddresses: boolean,
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  if (!logger.isLevelEnabled(level)) return;
  const showsStacks = level !== 'info' && level !== 'warn';
  logger[level](redact(fields, { showsAddresses, showsStacks }), message);
}
