import { type IdempotencyKey, storedKey } from '../../src/core/model/idempotency-key.ts';
import type { Message, MessageStatus } from '../../src/core/model/message.ts';
import type {
  IdempotencyStore,
  KnownChat,
  MessagesApp,
  OwnRow,
  RunOutcome,
  SendLookup,
  SendPart,
  StoredOutcome,
} from '../../src/core/model/ports/sending-ports.ts';
import { problem } from '../../src/core/model/problems.ts';

/** An in-memory chat.db of own rows. */
export class InMemoryChat implements SendLookup {
  readonly #now: () => number;
  readonly rows: OwnRow[] = [];
  readonly known = new Map<string, readonly KnownChat[]>();
  /** The service of the newest own message, by address. */
  readonly services = new Map<string, string>();
  inUse: ReadonlySet<string> = new Set();
  isAway = false;
  /** The status of every row. */
  status: MessageStatus = 'sent';
  /** `now` dates the rows that are added without a date, as Messages does. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds a chat that is known under each of these spellings. */
  know(guid: string, service: string | null, ...typed: readonly string[]): void {
    for (const name of [guid, ...typed]) this.known.set(name, [...(this.known.get(name) ?? []), { guid, service }]);
  }

  add(row: Partial<OwnRow>): number {
    const rowId = row.rowId ?? this.highestRowId() + 1;
    this.rows.push({
      address: '-;+15550100',
      body: '',
      attachmentNames: [],
      guid: `G${rowId}`,
      datedMs: Math.floor(this.#now() / 1000) * 1000,
      ...row,
      rowId,
    });
    return rowId;
  }

  chats(recipient: string): readonly KnownChat[] {
    this.#check();
    return this.known.get(recipient) ?? [];
  }

  async stagedFoldersInUse(): Promise<ReadonlySet<string>> {
    this.#check();
    return this.inUse;
  }

  newestServiceTo(address: string): string | undefined {
    this.#check();
    return this.services.get(address);
  }

  highestRowId(): number {
    this.#check();
    return Math.max(0, ...this.rows.map((row) => row.rowId));
  }

  ownRowsAbove(rowId: number, sinceMs: number): readonly OwnRow[] {
    this.#check();
    return this.rows.filter((row) => row.rowId > rowId && row.datedMs >= sinceMs);
  }

  isNewChat(rowId: number, afterRowId: number): boolean {
    this.#check();
    const address = this.rows.find((row) => row.rowId === rowId)?.address ?? null;
    return address !== null && !this.rows.some((row) => row.address === address && row.rowId <= afterRowId);
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
      status: this.status,
    };
  }

  isMirror(): boolean {
    return false;
  }

  #check(): void {
    if (this.isAway) throw problem('chat_db_missing');
  }
}

/** An in-memory Messages; `behave` decides what each run does. */
export class InMemoryMessages implements MessagesApp {
  readonly runs: SendPart[] = [];
  opened = 0;
  liveIds: readonly string[] = [];
  isAskingNow = false;
  behave: (part: SendPart, signal: AbortSignal) => RunOutcome | Promise<RunOutcome> = () => ({ kind: 'done' });

  async isAsking(): Promise<boolean> {
    return this.isAskingNow;
  }

  async run(part: SendPart, signal: AbortSignal): Promise<RunOutcome> {
    this.runs.push(part);
    return this.behave(part, signal);
  }

  open: (signal: AbortSignal) => Promise<void> = async () => {
    this.opened += 1;
  };

  async liveChatIds(): Promise<readonly string[]> {
    return this.liveIds;
  }

  /** Sets the outcomes of the coming runs, in order; later runs succeed. */
  endWith(...outcomes: readonly RunOutcome[]): void {
    const left = [...outcomes];
    this.behave = () => left.shift() ?? { kind: 'done' };
  }
}

/** The store of decision D9, in memory. */
export class InMemoryStore implements IdempotencyStore {
  readonly kept = new Map<string, { readonly requestHash: string; outcome: StoredOutcome }>();

  find(key: IdempotencyKey): ReturnType<IdempotencyStore['find']> {
    return this.kept.get(storedKey(key));
  }

  claim(key: IdempotencyKey, requestHash: string): ReturnType<IdempotencyStore['claim']> {
    const earlier = this.kept.get(storedKey(key));
    if (earlier !== undefined) return earlier;
    this.kept.set(storedKey(key), { requestHash, outcome: { state: 'running' } });
    return 'claimed';
  }

  finish(key: IdempotencyKey, outcome: StoredOutcome): void {
    const earlier = this.kept.get(storedKey(key));
    if (earlier !== undefined) earlier.outcome = outcome;
  }
}

/** An AppleScript error. */
export function failed(number: number | null): RunOutcome {
  return { kind: 'failed', number, message: 'Can’t get chat id "any;-;+15550100".' };
}
