import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../model/ports/host-ports.ts';
import type { PermissionReason, PermissionReport } from '../model/ports/permissions-ports.ts';
import { pause } from '../runtime/clock.ts';
import { type CommandResult, commandRunner } from '../runtime/command.ts';
import { scriptErrorNumber } from '../runtime/script-error.ts';

/**
 * Time after which the script is killed. The script waits 600 s for the user's answer. Killing it earlier would make
 * macOS remove the dialog.
 */
const ASK_LIMIT_MS = 610_000;
/** The longest wait for Messages to start (decision D2). */
const OPEN_LIMIT_MS = 10_000;
const POLL_MS = 300;
/** Minimum time that a user takes to answer a dialog. A faster refusal comes from macOS itself, without a dialog. */
const DIALOG_TAKES_MS = 300;
const SCRIPT = fileURLToPath(new URL('./automation.applescript', import.meta.url));

const NOT_RUNNING = -600;
const REFUSED = -1743;

export interface AutomationParts {
  /** Absolute path of osascript. `open` is expected in the same folder. */
  readonly osascriptPath: string;
  readonly clock: Clock;
  /** Aborts the request to Messages, which also closes the dialog. */
  readonly signal: AbortSignal;
  /** True if the user has refused in a dialog before. macOS then repeats that answer at once, without a dialog. */
  readonly wasAsked?: boolean;
  /** Called with the time that the last request took, if Messages answered it. */
  readonly onAnswer?: (tookMs: number) => void;
}

/**
 * Sends Messages a harmless request on behalf of this process, after opening Messages if it is not running. If macOS
 * prompts the user, waits for the answer.
 */
export async function askAutomation(parts: AutomationParts): Promise<PermissionReport> {
  const { osascriptPath, clock, signal } = parts;
  const run = commandRunner({ LANG: 'en_US.UTF-8' }, clock);
  let startedMs = clock.monotonic();
  const ask = (): Promise<CommandResult> => {
    startedMs = clock.monotonic();
    return run(osascriptPath, [SCRIPT], { timeoutMs: ASK_LIMIT_MS, signal });
  };
  let result = await ask();
  if (errorOf(result) === NOT_RUNNING) {
    const endMs = clock.monotonic() + OPEN_LIMIT_MS;
    await run(join(dirname(osascriptPath), 'open'), ['-gjb', 'com.apple.MobileSMS'], {
      timeoutMs: OPEN_LIMIT_MS,
      signal,
    });
    while (errorOf(result) === NOT_RUNNING && clock.monotonic() + POLL_MS <= endMs && !signal.aborted) {
      await pause(clock, POLL_MS, signal);
      result = await ask();
    }
  }
  const tookMs = clock.monotonic() - startedMs;
  if (result.code === 0) parts.onAnswer?.(tookMs);
  const isAtOnce = tookMs < DIALOG_TAKES_MS && parts.wasAsked !== true;
  return report(result, isAtOnce);
}

/** Returns the report which says that the dialog for the automation permission is still open. */
export function asking(): PermissionReport {
  return automation(
    'unknown',
    'Messages has not answered yet. macOS is asking on the screen whether Postern may control Messages: click Allow (or OK).',
    'asking',
  );
}

export function grantedControl(): PermissionReport {
  return automation('granted', 'Postern is allowed to control Messages.');
}

/** Returns the report which says that the user has refused the automation permission, or taken it back. */
export function refusedControl(): PermissionReport {
  return automation('denied', REFUSAL, 'refused');
}

function report(result: CommandResult, isAtOnce: boolean): PermissionReport {
  if (result.code === 0) return grantedControl();
  if (result.startError !== undefined) {
    return automation('unknown', `osascript could not be run (${result.startError}).`, 'failed');
  }
  const number = errorOf(result);
  if (number === REFUSED && !isAtOnce) return refusedControl();
  if (number === REFUSED || number === -1744) return automation('denied', NO_DIALOG, 'no_dialog');
  if (number === NOT_RUNNING) {
    const detail =
      'Messages is not running and could not be opened. Log in at the Mac and open Messages, then check the permissions again.';
    return automation('unknown', detail, 'messages_closed');
  }
  if (result.code === null || number === -1712) return automation('unknown', NO_ANSWER, 'failed');
  return automation(
    'unknown',
    `Postern could not ask Messages${number === null ? '' : ` (error ${number})`}.`,
    'failed',
  );
}

const REFUSAL =
  'Postern is not allowed to control Messages. In System Settings, under Privacy & Security > Automation, switch on Messages below Postern.';
const NO_DIALOG =
  'macOS refused at once, without asking anybody. In System Settings, under Privacy & Security > Automation, switch on Messages below Postern; if Postern is not in that list, install Postern again at the Mac itself, which lets macOS ask again.';
const NO_ANSWER =
  'Messages did not answer in time. If macOS asked on the screen whether Postern may control Messages, that dialog has closed. Check the permissions again.';

function errorOf({ code, stderr }: CommandResult): number | null {
  return code === 0 || code === null ? null : scriptErrorNumber(stderr);
}

function automation(state: PermissionReport['state'], detail: string, reason?: PermissionReason): PermissionReport {
  return { name: 'automation', state, detail, ...(reason !== undefined && { reason }) };
}
