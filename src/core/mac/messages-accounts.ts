import { fileURLToPath } from 'node:url';
import { DAY_MS, HOUR_MS } from '../model/durations.ts';
import { isoSecond } from '../model/iso-second.ts';
import {
  ACCOUNT_SERVICES,
  accountState,
  accountWarning,
  type ListedAccount,
  type MessagesAccount,
  type ScriptFailure,
} from '../model/messages-account.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { Permissions } from '../model/ports/permissions-ports.ts';
import type { StatusWarning } from '../model/status.ts';
import type { Cleanup } from '../runtime/cleanup.ts';
import type { RunCommand } from '../runtime/command.ts';
import { scriptErrorNumber } from '../runtime/script-error.ts';

const SCRIPT = fileURLToPath(new URL('./accounts.applescript', import.meta.url));
/** Time limit of one script. Slightly longer than the 25 s for which the scripts wait for Messages to answer. */
const SCRIPT_LIMIT_MS = 30_000;
const CHECK_EVERY_MS = 60_000;

export interface MessagesAccountsParts {
  readonly osascriptPath: string;
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly log: Log;
  readonly permissions: Pick<Permissions, 'known'>;
}

/** Creates the daily look at the accounts of Messages, and starts it. */
export function openMessagesAccounts({
  closers,
  ...parts
}: MessagesAccountsParts & { readonly closers: Cleanup }): MessagesAccounts {
  const accounts = new MessagesAccounts(parts);
  closers.add('accounts of Messages', { start: () => accounts.start(), end: () => accounts.close() });
  return accounts;
}

/**
 * Asks Messages once a day which accounts it has, and once an hour while iMessage is missing or Messages does not
 * answer. Asks only while Automation is known to be granted, so that macOS never prompts the user.
 */
export class MessagesAccounts {
  readonly #parts: MessagesAccountsParts;
  readonly #stop = new AbortController();
  #account: MessagesAccount | undefined;
  #nextAtMs = 0;
  #cancel: Cancel | undefined;
  #work: Promise<unknown> = Promise.resolve();

  constructor(parts: MessagesAccountsParts) {
    this.#parts = parts;
  }

  /** Returns the answer that Messages gave last; undefined before the first. */
  status(): MessagesAccount | undefined {
    return this.#account;
  }

  start(): void {
    const { clock, permissions } = this.#parts;
    this.#cancel = clock.after(CHECK_EVERY_MS, () => {
      this.start();
      const isGranted = permissions.known.some(({ name, state }) => name === 'automation' && state === 'granted');
      if (isGranted && clock.monotonic() >= this.#nextAtMs) this.#work = this.ask();
    });
  }

  async close(): Promise<void> {
    this.#cancel?.();
    this.#stop.abort();
    await this.#work;
  }

  warning(): StatusWarning | undefined {
    return this.#account && accountWarning(this.#account.state);
  }

  /** Asks Messages now, which may make macOS prompt the user. */
  async ask(signal: AbortSignal = this.#stop.signal): Promise<readonly ListedAccount[] | ScriptFailure> {
    const { clock, log } = this.#parts;
    this.#nextAtMs = clock.monotonic() + HOUR_MS;
    const printed = await askMessages(this.#parts, SCRIPT, signal);
    if (typeof printed !== 'string') return printed;
    const accounts = accountsIn(printed);
    const state = accountState(accounts);
    if (state !== (this.#account?.state ?? 'imessage')) log.warn('the accounts of Messages have changed', { state });
    this.#account = { state, checked_at: isoSecond(clock.now()) };
    if (state === 'imessage') this.#nextAtMs = clock.monotonic() + DAY_MS;
    return accounts;
  }
}

/** Runs a script that asks Messages. Returns its output or its failure. */
export async function askMessages(
  { run, osascriptPath }: Pick<MessagesAccountsParts, 'run' | 'osascriptPath'>,
  script: string,
  signal: AbortSignal,
): Promise<string | ScriptFailure> {
  const limits = { timeoutMs: SCRIPT_LIMIT_MS, hasOwnGroup: true, signal };
  const { code, stdout, stderr } = await run(osascriptPath, [script], { ...limits, env: { LANG: 'en_US.UTF-8' } });
  return code === 0 ? stdout : { error: scriptErrorNumber(stderr) ?? 'no_answer' };
}

/**
 * Pairs each service with its state. osascript joins the script's two lists: all services come first, then, in the same
 * order, whether each is enabled.
 */
function accountsIn(printed: string): readonly ListedAccount[] {
  const words = printed.trim().split(', ').filter(Boolean);
  const half = Math.floor(words.length / 2);
  return words.slice(0, half).map((word, index) => ({
    service: ACCOUNT_SERVICES.find((service) => service === word) ?? 'other',
    enabled: words[half + index] === 'true',
  }));
}
