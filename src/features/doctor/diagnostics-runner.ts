import { fileURLToPath } from 'node:url';
import type {
  DataShapes,
  Diagnostics,
  LiveChatDiagnostics,
  SqliteDiagnostics,
} from '../../client/diagnostics-types.ts';
import { askMessages, type MessagesAccounts } from '../../core/mac/messages-accounts.ts';
import { addressOf } from '../../core/model/address.ts';
import type { ScriptFailure } from '../../core/model/messages-account.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { AwakeClock } from '../../core/runtime/awake-clock.ts';
import type { RunCommand } from '../../core/runtime/command.ts';
import type { Poster } from '../../core/webhooks/poster.ts';
import { DiagnosticReader, prefixCounts } from './diagnostic-reader.ts';
import type { DiagnosticsRequest } from './port.ts';

const CHATS_SCRIPT = fileURLToPath(new URL('../../core/sender/chats.applescript', import.meta.url));
const NOT_ASKED: ScriptFailure = { error: 'not_asked' };

export interface DiagnosticsParts {
  readonly chatDbPath: string;
  readonly osascriptPath: string;
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly messagesAccounts: Pick<MessagesAccounts, 'ask'>;
  readonly awake: Pick<AwakeClock, 'sleepGaps'>;
  readonly poster: Pick<Poster, 'errors'>;
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
    const { messagesAccounts } = this.#parts;
    const [accounts, liveIds, database] = await Promise.all([
      asksMessages ? messagesAccounts.ask(this.#stop.signal) : NOT_ASKED,
      asksMessages ? askMessages(this.#parts, CHATS_SCRIPT, this.#stop.signal) : NOT_ASKED,
      this.#database(seconds),
    ]);
    const { guids, changes, addresses, shapes, sqlite } = database;
    return {
      accounts,
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
