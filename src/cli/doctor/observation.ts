import type { CommandResult, RunCommand } from '../../runtime/command.ts';
import { knownWords } from './redact.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Why there is nothing to report under a key. */
export type Absence =
  | 'not_macos'
  /** There is no such program or file. */
  | 'missing'
  | 'time_limit'
  | 'failed'
  /** The service does not answer, or does not allow this. */
  | 'no_service'
  /** macOS might have asked the person. */
  | 'not_asked';

/** What was found under one key of the report, or why nothing was. */
export type Observation = { readonly found: Json } | { readonly absent: Absence; readonly [detail: string]: Json };

export function found(value: Json): Observation {
  return { found: value };
}

export function absent(reason: Absence, details: Readonly<Record<string, Json>> = {}): Observation {
  return { absent: reason, ...details };
}

export interface Call {
  readonly run: RunCommand;
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

/** Runs a program within its time limit. Its exit code is always reported; what it prints, only as `read` reduces it. */
export async function observe(
  { run, command, args, timeoutMs = TIMEOUT_MS }: Call,
  read: (result: CommandResult) => Readonly<Record<string, Json>> = () => ({}),
): Promise<Observation> {
  const result = await run(command, args, { timeoutMs, env: { LANG: 'en_US.UTF-8' } });
  if (result.trouble !== null) return absent(result.trouble);
  const words = result.code === 0 ? {} : { says: knownWords(result.stderr) };
  return found({ exit_code: result.code, ...words, ...read(result) });
}

/** `look`, whatever goes wrong in it. */
export async function guarded(look: () => Promise<Observation> | Observation): Promise<Observation> {
  try {
    return await look();
  } catch (error) {
    const code = (error as { code?: unknown } | undefined)?.code;
    if (code === 'ENOENT') return absent('missing');
    return absent('failed', typeof code === 'string' ? { error_code: knownCode(code) } : {});
  }
}

/** Codes of Node and SQLite are in upper case; any other text is masked like one. */
function knownCode(code: string): string {
  return /^(?:E[A-Z]{2,14}|SQLITE_[A-Z]{2,14}|ERR_[A-Z_]{2,40})$/.test(code) ? code : knownWords(code);
}
