import { AppError } from '../src/core/model/errors.ts';
import type { Clock } from '../src/core/model/ports/host-ports.ts';
import { pause } from '../src/core/runtime/clock.ts';
import type { CommandResult, RunCommand } from '../src/core/runtime/command.ts';
import { backgroundSwitch } from './settings-panes.ts';

/** The agent's state from `launchctl print`. */
export type JobState =
  | { readonly kind: 'running'; readonly pid: number }
  /** launchd knows the agent, but it is not running now. */
  | { readonly kind: 'loaded'; readonly lastExitCode: number | null }
  /** Not loaded: it never was, was booted out, or is switched off under Login Items. */
  | { readonly kind: 'absent' }
  /** Nobody is logged in at the screen, so the state is unknown. */
  | { readonly kind: 'no_session' }
  | { readonly kind: 'unknown'; readonly detail: string };

/**
 * Exit codes of launchctl with the values of EEXIST, EINPROGRESS and EALREADY: launchd has accepted the command, and
 * the agent's state will show whether it was carried out.
 */
const IN_PROGRESS = new Set([17, 36, 37]);
const IO_ERROR = 5;
const NO_SUCH_PROCESS = 3;
const NOT_FOUND = 113;
/**
 * Exit codes of launchctl: no domain `gui/UID` (112), or a domain that does not support the command (125). On a Mac
 * without a login session, launchctl exits with one of the two.
 */
const NO_SESSION = new Set([112, 125]);

const NO_SESSION_TEXT = {
  message: 'Nobody is logged in at the screen of this Mac, so there is no session the agent could run in.',
  hint: 'Log in at the screen (or by screen sharing, not by ssh alone) and run the installation again.',
};

const BOOTSTRAP_FAILURES: Readonly<Record<number, { readonly message: string; readonly hint: string }>> = {
  112: NO_SESSION_TEXT,
  125: NO_SESSION_TEXT,
  122: {
    message: "The agent's property list has the wrong owner or mode.",
    hint: 'It must belong to you and be writable by you alone: run the installation as yourself, without sudo.',
  },
  134: {
    message: 'macOS does not allow this agent in this kind of session.',
    hint: 'Log in at the screen and run the installation again.',
  },
  155: {
    message: 'macOS keeps the program in quarantine, as it does with downloads.',
    hint: 'Run: xattr -dr com.apple.quarantine ~/Applications/Postern.app — then run the installation again.',
  },
};

const SWITCHED_OFF = 119;
const POLL_MS = 250;
/**
 * Longest wait for a job to end after `bootout`. launchd kills the job after ExitTimeOut (20 s), so a longer wait means
 * that something is stuck.
 */
const BOOTOUT_LIMIT_MS = 25_000;
/** Longest wait until launchd lists a job that it is loading. */
const LOADING_LIMIT_MS = 5_000;
const BOOTSTRAP_ATTEMPTS = 5;

/**
 * Controls and observes the launchd agent with this label, through launchctl, in the login session of the user `uid`.
 */
export class Launchd {
  readonly #run: RunCommand;
  readonly #clock: Clock;
  readonly #domain: string;
  readonly #label: string;

  constructor(run: RunCommand, clock: Clock, uid: number, label: string) {
    this.#run = run;
    this.#clock = clock;
    this.#domain = `gui/${uid}`;
    this.#label = label;
  }

  get target(): string {
    return `${this.#domain}/${this.#label}`;
  }

  async state(): Promise<JobState> {
    const result = await this.#launchctl('print', this.target);
    if (result.code === NOT_FOUND || result.code === NO_SUCH_PROCESS) return { kind: 'absent' };
    if (NO_SESSION.has(result.code ?? 0)) return { kind: 'no_session' };
    if (result.code !== 0) return { kind: 'unknown', detail: described('print', result) };
    const pid = /^[ \t]*pid = (\d+)/m.exec(result.stdout)?.[1];
    if (pid !== undefined) return { kind: 'running', pid: Number(pid) };
    const code = /^[ \t]*last exit code = (\d+)/m.exec(result.stdout)?.[1];
    return { kind: 'loaded', lastExitCode: code === undefined ? null : Number(code) };
  }

  /** Reports whether the user (or `launchctl disable`) switched the agent off; undefined if launchctl fails. */
  async isDisabled(): Promise<boolean | undefined> {
    const result = await this.#launchctl('print-disabled', this.#domain);
    if (result.code !== 0) return undefined;
    const line = result.stdout.split('\n').find((text) => text.includes(`"${this.#label}"`));
    return line !== undefined && /=> (?:disabled|true)/.test(line);
  }

  /**
   * Lets launchd start the agent, even if the agent was disabled before. Removing the property list does not enable the
   * agent, because launchd stores the disabled state elsewhere.
   */
  async enable(): Promise<void> {
    const result = await this.#launchctl('enable', this.target);
    if (result.code !== 0) throw failure('enable', result);
  }

  /**
   * Returns false if nobody is logged in at the screen, because launchd can then load no agent. Returns true otherwise,
   * and also if launchctl fails for another reason.
   */
  async hasSession(): Promise<boolean> {
    const result = await this.#launchctl('print', this.#domain);
    return !NO_SESSION.has(result.code ?? 0) && result.code !== NOT_FOUND;
  }

  /** Loads the property list, which starts the agent. Also succeeds if the agent was already loaded. */
  async bootstrap(plist: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#launchctl('bootstrap', this.#domain, plist);
      if (result.code === 0) return;
      // Error 5 means that an earlier bootout has not finished, or that the job is already loaded.
      const mayBeLoaded = IN_PROGRESS.has(result.code ?? 0) || result.code === IO_ERROR;
      if (mayBeLoaded && (await this.#isReached(isLoaded, LOADING_LIMIT_MS))) return;
      if (result.code === SWITCHED_OFF) throw switchedOff(await backgroundSwitch(this.#run));
      if (!mayBeLoaded || attempt === BOOTSTRAP_ATTEMPTS) throw failure('bootstrap', result);
    }
  }

  /**
   * Stops and unloads the agent. Waits until launchd no longer lists it, because `launchctl bootout` returns earlier.
   */
  async bootout(): Promise<void> {
    const result = await this.#launchctl('bootout', this.target);
    if (result.code === NOT_FOUND || result.code === NO_SUCH_PROCESS) return;
    // Waits even if launchctl failed. Otherwise a later start could mistake the ending job for the new one.
    const isGone = (job: JobState): boolean => job.kind === 'absent' || job.kind === 'no_session';
    if (await this.#isReached(isGone, BOOTOUT_LIMIT_MS)) return;
    if (result.code !== 0 && !IN_PROGRESS.has(result.code ?? 0)) throw failure('bootout', result);
    throw new AppError('agent_does_not_stop', 'The running agent did not stop.', {
      hint: `Look at it with: launchctl print ${this.target}`,
    });
  }

  async #isReached(isWanted: (job: JobState) => boolean, limitMs: number): Promise<boolean> {
    const end = this.#clock.monotonic() + limitMs;
    while (!isWanted(await this.state())) {
      if (this.#clock.monotonic() >= end) return false;
      await pause(this.#clock, POLL_MS);
    }
    return true;
  }

  #launchctl(...args: readonly string[]): Promise<CommandResult> {
    return this.#run('launchctl', args);
  }
}

function isLoaded({ kind }: JobState): boolean {
  return kind === 'running' || kind === 'loaded';
}

/**
 * Returns the error for a Mac where nobody is logged in at the screen. Without a login session, launchd cannot run the
 * agent.
 */
export function noSession(): AppError {
  return failure('print', { code: 112, stdout: '', stderr: '', trouble: null });
}

function switchedOff(place: string): AppError {
  return new AppError('launchctl_failed', 'The agent is switched off for this user, and macOS refuses to start it.', {
    hint: `In System Settings, in ${place}, switch on Postern. Then run the installation again.`,
  });
}

function failure(verb: string, result: CommandResult): AppError {
  const known = BOOTSTRAP_FAILURES[result.code ?? -1];
  return new AppError('launchctl_failed', known?.message ?? described(verb, result), {
    hint:
      known?.hint ??
      'To see what launchd did, run: log show --last 10m --predicate \'process == "launchd" OR process == "xpcproxy"\'',
  });
}

function described(verb: string, result: CommandResult): string {
  if (result.trouble === 'missing') return 'There is no launchctl on this machine.';
  if (result.trouble === 'time_limit') return `launchctl ${verb} did not answer in time.`;
  const said = result.stderr.trim().split('\n')[0] ?? '';
  return `launchctl ${verb} ended with ${result.code ?? 'a signal'}${said === '' ? '' : `: ${said}`}.`;
}
