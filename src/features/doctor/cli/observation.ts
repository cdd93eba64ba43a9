import type { CommandResult, RunCommand } from '../../../core/runtime/command.ts';
import { knownWords } from './redact.ts';

export type ReportedValue =
  | string
  | number
  | boolean
  | null
  | readonly ReportedValue[]
  | { readonly [key: string]: ReportedValue };

/** Reasons why a key of the report has no value. */
export type Absence =
  | 'not_macos'
  /** The program or file does not exist. */
  | 'missing'
  | 'time_limit'
  | 'failed'
  /** The service does not answer, or refuses the request. */
  | 'no_service'
  /** Left out because the user did not ask for it: macOS would have prompted, or a message would have been sent. */
  | 'not_asked';

/** The result under one key of the report, or the reason for its absence. */
export type Observation =
  | { readonly found: ReportedValue }
  | { readonly absent: Absence; readonly [detail: string]: ReportedValue };

export function found(value: ReportedValue): Observation {
  return { found: value };
}

export function absent(reason: Absence, details: Readonly<Record<string, ReportedValue>> = {}): Observation {
  return { absent: reason, ...details };
}

export interface ObservedCommand {
  readonly run: RunCommand;
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

/**
 * Runs a program for at most `timeoutMs`. Reports its exit code and the values that `read` takes from its output. If
 * the exit code is not 0, also reports the words of stderr that are known to be harmless.
 */
export async function observe(
  { run, command, args, timeoutMs = TIMEOUT_MS }: ObservedCommand,
  read: (result: CommandResult) => Readonly<Record<string, ReportedValue>> = () => ({}),
): Promise<Observation> {
  const result = await run(command, args, { timeoutMs, env: { LANG: 'en_US.UTF-8' } });
  if (result.trouble !== null) return absent(result.trouble);
  const words = result.code === 0 ? {} : { says: knownWords(result.stderr) };
  return found({ exit_code: result.code, ...words, ...read(result) });
}

/** Runs `look`. Any failure becomes an observation. */
export async function guarded(look: () => Promise<Observation> | Observation): Promise<Observation> {
  try {
    return await look();
  } catch (error) {
    const code = (error as { code?: unknown } | undefined)?.code;
    if (code === 'ENOENT') return absent('missing');
    return absent('failed', typeof code === 'string' ? { error_code: knownCode(code) } : {});
  }
}

/** Returns an error code of Node or SQLite unchanged: such codes are in upper case. Masks any other text. */
function knownCode(code: string): string {
  return /^(?:E[A-Z]{2,14}|SQLITE_[A-Z]{2,14}|ERR_[A-Z_]{2,40})$/.test(code) ? code : knownWords(code);
}
