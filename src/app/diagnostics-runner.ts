import { fileURLToPath } from 'node:url';
import { addressOf } from '../domain/address.ts';
import {
  ACCOUNT_SERVICES,
  type AccountDiagnostics,
  type DataShapes,
  type Diagnostics,
  type LiveChatDiagnostics,
  type ScriptFailure,
  type SqliteDiagnostics,
} from '../domain/diagnostics.ts';
import type { Clock } from '../domain/ports/host-ports.ts';
import type { Poster } from '../events/webhooks/poster.ts';
import { DiagnosticReader, prefixCounts } from '../mac/chatdb/diagnostic-reader.ts';
import type { AwakeClock } from '../runtime/awake-clock.ts';
import type { RunCommand } from '../runtime/command.ts';
import { scriptErrorNumber } from '../runtime/script-error.ts';

const ACCOUNTS_SCRIPT = fileURLToPath(new URL('../mac/system/accounts.applescript', import.meta.url));
const CHATS_SCRIPT = fileURLToPath(new URL('../mac/sender/chats.applescript', import.meta.url));
/** Time limit of one script. Slightly longer than the 25 s for which the scripts wait for Messages to answer. */
const SCRIPT_LIMIT_MS = 30_000;
const NOT_ASKED: ScriptFailure = { error: 'not_asked' };

export interface DiagnosticsParts {
  readonly chatDbPath: string;
  readonly osascriptPath: string;
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly awake: Pick<AwakeClock, 'sleepGaps'>;
  readonly poster: Pick<Poster, 'errors'>;
}

export interface DiagnosticsRequest {
  /** Time for which to watch chat.db. */
  readonly seconds: number;
  /** True to ask Messages too, which may make macOS prompt the user. */
  readonly asksMessages: boolean;
}

/**
 * Collects the facts for a report of the diagnostics, one run at a time. Runs in the service, because macOS grants the
 * permissions only to the service.
 */
export class DiagnosticsRunner {
  readonly #parts: DiagnosticsParts;
  readonly #stop = new AbortController();
  #running: Promise<Diagnostics> | undefined;
  #watchEndsAtMs = 0;

  constructor(parts: DiagnosticsParts) {
    this.#parts = parts;
  }

  /**
   * Collects the facts. While a run is in progress, returns the answer of that run, whose watch then ends
   * `request.seconds` after this call.
   */
  run(request: DiagnosticsRequest): Promise<Diagnostics> {
    if (this.#running !== undefined) this.#watchFor(request.seconds);
    this.#running ??= this.#run(request).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Ends the current run early. The run returns the facts that it has found so far. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running?.catch(() => undefined);
  }

  async #run({ seconds, asksMessages }: DiagnosticsRequest): Promise<Diagnostics> {
    const [accounts, liveIds, database] = await Promise.all([
      asksMessages ? this.#ask(ACCOUNTS_SCRIPT) : NOT_ASKED,
      asksMessages ? this.#ask(CHATS_SCRIPT) : NOT_ASKED,
      this.#database(seconds),
    ]);
    const { guids, changes, addresses, shapes, sqlite } = database;
    return {
      accounts: typeof accounts === 'string' ? accountsIn(accounts) : accounts,
      live_chats: typeof liveIds === 'string' ? compared(lines(liveIds), guids ?? []) : liveIds,
      stored_prefixes: guids === null ? null : prefixCounts(guids),
      changes,
      data_shapes: shapes,
      sqlite,
      sleep_gaps: this.#parts.awake.sleepGaps,
      delivery_errors: this.#parts.poster.errors.counts,
      own_addresses: addresses,
    };
  }

  async #database(seconds: number): Promise<{
    readonly guids: readonly string[] | null;
    readonly addresses: readonly string[];
    readonly changes: Diagnostics['changes'];
    readonly shapes: DataShapes | null;
    readonly sqlite: SqliteDiagnostics | null;
  }> {
    const { chatDbPath, clock } = this.#parts;
    let reader: DiagnosticReader | undefined;
    try {
      reader = new DiagnosticReader(chatDbPath);
      const guids = reader.chatGuids();
      const addresses = reader.ownAddresses();
      const [shapes, sqlite] = [reader.dataShapes(), reader.sqlite()];
      this.#watchFor(seconds);
      const isEnough = (): boolean => this.#stop.signal.aborted || clock.monotonic() >= this.#watchEndsAtMs;
      return { guids, addresses, shapes, sqlite, changes: await reader.watch(isEnough, clock) };
    } catch {
      return { guids: null, addresses: [], changes: null, shapes: null, sqlite: null }; // health says why
    } finally {
      reader?.close();
    }
  }

  #watchFor(seconds: number): void {
    this.#watchEndsAtMs = this.#parts.clock.monotonic() + seconds * 1000;
  }

  /** Runs a script that asks Messages. Returns its output or its failure. */
  async #ask(script: string): Promise<string | ScriptFailure> {
    const { run, osascriptPath } = this.#parts;
    const limits = { timeoutMs: SCRIPT_LIMIT_MS, hasOwnGroup: true, signal: this.#stop.signal };
    const { code, stdout, stderr } = await run(osascriptPath, [script], { ...limits, env: { LANG: 'en_US.UTF-8' } });
    return code === 0 ? stdout : { error: scriptErrorNumber(stderr) ?? 'no_answer' };
  }
}

/**
 * Pairs each service with its state. osascript joins the script's two lists: all services come first, then, in the same
 * order, whether each is enabled.
 */
function accountsIn(printed: string): readonly AccountDiagnostics[] {
  const words = printed.trim().split(', ').filter(Boolean);
  const half = Math.floor(words.length / 2);
  return words.slice(0, half).map((word, index) => ({
    service: ACCOUNT_SERVICES.find((service) => service === word) ?? 'other',
    enabled: words[half + index] === 'true',
  }));
}

function compared(live: readonly string[], stored: readonly string[]): LiveChatDiagnostics {
  const guids = new Set(stored);
  const identifiers = new Set(stored.map(addressOf));
  return {
    live: live.length,
    prefixes: prefixCounts(live),
    same_guid: live.filter((id) => guids.has(id)).length,
    same_identifier: live.filter((id) => identifiers.has(addressOf(id))).length,
  };
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
