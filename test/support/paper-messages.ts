import type { Message } from '../../src/domain/message.ts';
import type {
  ChatTarget,
  IdempotencyStore,
  MessagesApp,
  OwnRow,
  RunOutcome,
  SendLookup,
  SendPart,
  StoredOutcome,
} from '../../src/domain/ports/sending.ts';
import { problem } from '../../src/domain/problems.ts';

/** Own rows of a chat.db, in memory. */
export class PaperChat implements SendLookup {
  readonly rows: OwnRow[] = [];
  readonly targets = new Map<string, ChatTarget>();
  isAway = false;

  /** A chat, known under every one of these spellings. */
  know(guid: string, service: string | null, ...typed: readonly string[]): void {
    for (const name of [guid, ...typed]) this.targets.set(name, { guid, chatIds: [guid], service });
  }

  add(row: Partial<OwnRow>): number {
    const rowId = row.rowId ?? this.highestRowId() + 1;
    this.rows.push({ address: '-;+15550100', body: '', attachmentNames: [], ...row, rowId });
    return rowId;
  }

  target(recipient: string): ChatTarget | undefined {
    this.#check();
    return this.targets.get(recipient);
  }

  highestRowId(): number {
    this.#check();
    return Math.max(0, ...this.rows.map((row) => row.rowId));
  }

  ownRowsAbove(rowId: number): readonly OwnRow[] {
    this.#check();
    return this.rows.filter((row) => row.rowId > rowId);
  }

  message(rowId: number): Message | undefined {
    this.#check();
    const row = this.rows.find((one) => one.rowId === rowId);
    if (row === undefined) return undefined;
    return {
      id: String(rowId),
      guid: `G${rowId}`,
      conversation_id: row.address === null ? '' : `any;${row.address}`,
      sender: 'me@example.com',
      body: row.body,
      attachments: [],
      timestamp: '2026-01-02T03:04:05Z',
      is_from_me: true,
      status: 'sent',
    };
  }

  #check(): void {
    if (this.isAway) throw problem('chat_db_missing');
  }
}

/** Messages, in memory: what a run does is asked of `behave`. */
export class PaperMessages implements MessagesApp {
  readonly runs: SendPart[] = [];
  opened = 0;
  behave: (part: SendPart, signal: AbortSignal) => RunOutcome | Promise<RunOutcome> = () => ({ kind: 'done' });

  async run(part: SendPart, signal: AbortSignal): Promise<RunOutcome> {
    this.runs.push(part);
    return this.behave(part, signal);
  }

  async open(): Promise<void> {
    this.opened += 1;
  }

  /** The coming runs end like this, in turn; the ones after them succeed. */
  endWith(...outcomes: readonly RunOutcome[]): void {
    const left = [...outcomes];
    this.behave = () => left.shift() ?? { kind: 'done' };
  }
}

/** The store of decision D9 in memory. */
export class PaperStore implements IdempotencyStore {
  readonly kept = new Map<string, { readonly requestHash: string; outcome: StoredOutcome }>();

  find(key: string): ReturnType<IdempotencyStore['find']> {
    return this.kept.get(key);
  }

  claim(key: string, requestHash: string): ReturnType<IdempotencyStore['claim']> {
    const earlier = this.kept.get(key);
    if (earlier !== undefined) return earlier;
    this.kept.set(key, { requestHash, outcome: { state: 'running' } });
    return 'claimed';
  }

  finish(key: string, outcome: StoredOutcome): void {
    const earlier = this.kept.get(key);
    if (earlier !== undefined) earlier.outcome = outcome;
  }
}

/** An AppleScript error. */
export function failed(number: number | null): RunOutcome {
  return { kind: 'failed', number, message: 'Can’t get chat id "any;-;+15550100".' };
}
