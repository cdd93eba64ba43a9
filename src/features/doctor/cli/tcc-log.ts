import { BUNDLE_ID } from '../../../../installer/install-layout.ts';
import type { RunCommand } from '../../../core/runtime/command.ts';
import { type Observation, observe, type ReportedValue } from './observation.ts';
import { oneOf } from './redact.ts';

const KINDS = ['AUTHREQ_ATTRIBUTION', 'AUTHREQ_SUBJECT', 'AUTHREQ_RESULT', 'AUTHREQ_PROMPTING'] as const;
const PROGRAMS = [
  BUNDLE_ID,
  'com.apple.osascript',
  'com.apple.MobileSMS',
  'com.apple.Terminal',
  'com.apple.tccd',
] as const;
const SERVICES = ['kTCCServiceAppleEvents', 'kTCCServiceSystemPolicyAllFiles'] as const;
/** Selects only the lines that `reduced` reads, because `run` keeps only the end of a long output. */
const PREDICATE = 'subsystem == "com.apple.TCC" AND eventMessage BEGINSWITH "AUTHREQ_"';
const LOG_LIMIT_MS = 90_000;
const MAX_LINES = 60;

/**
 * Reads the last five minutes of macOS's log for decisions about Postern's permissions. Returns four kinds of lines,
 * without free text.
 */
export function tccLog(run: RunCommand): Promise<Observation> {
  const args = ['show', '--last', '5m', '--info', '--debug', '--style', 'compact', '--predicate', PREDICATE];
  return observe({ run, command: 'log', args, timeoutMs: LOG_LIMIT_MS }, ({ stdout }) => ({ lines: reduced(stdout) }));
}

/**
 * Reduces the log to lines about Postern. A line that reports a result does not name the program. Such a line is kept
 * if another line with the same request number names Postern.
 */
function reduced(log: string): readonly ReportedValue[] {
  const lines = log.split('\n').flatMap((text) => {
    const kind = KINDS.find((name) => text.includes(`${name}:`));
    return kind === undefined ? [] : [{ kind, text, request: /msgID=(\d+\.\d+)/.exec(text)?.[1] }];
  });
  const ours = new Set(lines.filter(({ text }) => text.includes(BUNDLE_ID)).map(({ request }) => request));
  return lines
    .filter(({ text, request }) => text.includes(BUNDLE_ID) || (request !== undefined && ours.has(request)))
    .slice(-MAX_LINES)
    .map(({ kind, text, request }) => ({ kind, request: request ?? null, ...details(text) }));
}

function details(text: string): Readonly<Record<string, ReportedValue>> {
  const all: Record<string, ReportedValue> = {
    service: SERVICES.find((service) => text.includes(service)) ?? null,
    subject: program(/\bsubject=(?:Sub:\{)?([^,}\s]+)/.exec(text)?.[1]),
    requesting: program(/requesting=\{[^{}]*?identifier=([^,}\s]+)/.exec(text)?.[1]),
    responsible: program(/responsible=\{[^{}]*?identifier=([^,}\s]+)/.exec(text)?.[1]),
    auth_value: number(/authValue=(\d+)/.exec(text)?.[1]),
    auth_reason: number(/authReason=(\d+)/.exec(text)?.[1]),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}

function program(identifier: string | undefined): string | null {
  return identifier === undefined ? null : (oneOf(PROGRAMS, identifier) ?? 'other');
}

function number(digits: string | undefined): number | null {
  return digits === undefined || digits.length > 3 ? null : Number(digits);
}
