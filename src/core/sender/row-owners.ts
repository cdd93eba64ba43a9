import { addressOf, normalAddress } from '../model/address.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { OwnRow } from '../model/ports/sending-ports.ts';
import type { ExpectedChat } from '../model/ports/sent-parts-ports.ts';
import { contentHashes, fits } from './content-hash.ts';

/** The run of a part is recent for this long. Rows appear within seconds of a run or not at all. */
const RECENT_MS = 90_000;
/** The row of a part whose run is not recent is dated at most this long after the part (decision I5). */
const PAIRED_WITHIN_MS = 600_000;
/** A part's row may be dated up to this long before the part, because dates are read in whole seconds. */
const TOLERANCE_MS = 2000;
/** A difference between the wall clock and the monotonic clock that grows by more shows that the wall clock was set. */
const CLOCK_SET_MS = 1000;

/** One part of a send, waiting for its row. */
export interface Expectation {
  /** Identifies the part's record in the store; undefined if the part could not be recorded. */
  readonly number: number | undefined;
  /** Highest row id before the run; undefined if chat.db was unavailable, in which case the row is not looked for. */
  readonly afterRowId: number | undefined;
  /** The chats in which the part's row may appear. An attempt may change this. */
  readonly chat: ExpectedChat;
  /**
   * The address in which a person's own row appears, such as `-;+15550100`. Undefined for a part of an earlier start.
   */
  readonly person?: string;
  readonly content: string;
  /** When the part was recorded, on the monotonic clock. */
  readonly notedAtMs: number;
  /** When the part was recorded, on the wall clock. */
  readonly atMs: number;
  /** When the part's last run ended, on the monotonic clock. Undefined until then. */
  readonly endedAtMs?: number;
  /** Row id of the part's row, once it is found. */
  readonly rowId?: number;
}

export type Waiting = { -readonly [Member in keyof Expectation]: Expectation[Member] } & {
  readonly afterRowId: number;
  /** When a row was first seen that this part or an earlier one may own, on the monotonic clock. */
  contestedAtMs?: number;
};

type DatedPart = Pick<Expectation, 'atMs' | 'notedAtMs'>;

export interface Now {
  /** The wall clock. */
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function nowOf(clock: Clock): Now {
  return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
}

/** Rows that the same parts may own. Both are in order. */
export interface Claim {
  /** The last of the parts. */
  readonly newest: Waiting;
  readonly parts: readonly Waiting[];
  readonly rows: OwnRow[];
}

/**
 * Groups rows by the part that ran last of those that may own them. Sends run one at a time, so a row that was written
 * after that part's run began is its row, unless an earlier part's row is late.
 */
export function claimsOn(rows: readonly OwnRow[], parts: readonly Waiting[], now: Now): readonly Claim[] {
  const claims = new Map<Waiting, Claim>();
  for (const row of rows) {
    const owners = possibleOwners(row, parts, now);
    const newest = owners.at(-1);
    if (newest === undefined) continue;
    const claim = claims.get(newest);
    if (claim === undefined) claims.set(newest, { newest, parts: owners, rows: [row] });
    else claim.rows.push(row);
  }
  return [...claims.values()];
}

function possibleOwners(row: OwnRow, parts: readonly Waiting[], now: Now): readonly Waiting[] {
  const contents = contentsOfRow(row);
  const fitting = parts.filter((one) => isRowOf(one, row, contents, now));
  // A part that named this conversation is preferred to one whose conversation Messages chose.
  const named = fitting.filter(({ chat }) => typeof chat !== 'string');
  // Messages may choose another address of the person, so a part without its own row can have that of another address.
  const own = fitting.filter(({ person }) => person !== undefined && person === row.address);
  const owners = [named, own, fitting].find((some) => some.length > 0) ?? [];
  const newest = owners.at(-1);
  if (newest === undefined || owners.length === 1 || wasClockSet(newest, now)) return owners;
  // A row that is older than the newest run is the late row of an earlier one.
  const begun = owners.filter(({ atMs }) => Math.floor(atMs / 1000) * 1000 <= row.datedMs);
  return begun.length > 0 ? begun : owners;
}

export function isRowOf(part: Waiting, row: OwnRow, contents: readonly string[], now: Now): boolean {
  return (
    row.rowId > part.afterRowId &&
    isDatedLike(part, row, now) &&
    isExpectedIn(part.chat, row.address) &&
    fits(part.content, contents)
  );
}

export function isExpectedIn(chat: ExpectedChat, address: string | null): boolean {
  if (chat === 'any') return true;
  return chat === 'one_to_one' ? address?.startsWith('-;') === true : chat.address === address;
}

/** Reports whether the part's run has not ended, or ended a short time ago. */
export function isRecent({ endedAtMs }: Waiting, { monotonicMs }: Now): boolean {
  return endedAtMs === undefined || endedAtMs >= monotonicMs - RECENT_MS;
}

/** Reports whether the part's row is not looked for any longer. */
export function hasExpired({ endedAtMs }: Waiting, { monotonicMs }: Now): boolean {
  return endedAtMs !== undefined && endedAtMs < monotonicMs - PAIRED_WITHIN_MS;
}

/** Reports whether the row's date allows that the part's run wrote it. */
function isDatedLike(part: Waiting, { datedMs }: OwnRow, now: Now): boolean {
  return datedMs >= earliestDateMs(part, now) && (isRecent(part, now) || datedMs <= part.atMs + PAIRED_WITHIN_MS);
}

/**
 * Returns the earliest date of a part's row, in Unix milliseconds. A new row id alone proves nothing: iCloud adds old
 * rows again under new ids (claude-plugins #5224).
 */
export function earliestDateMs(part: DatedPart, now: Now): number {
  return part.atMs + Math.min(clockSetByMs(part, now), 0) - TOLERANCE_MS;
}

function wasClockSet(part: Waiting, now: Now): boolean {
  return Math.abs(clockSetByMs(part, now)) > CLOCK_SET_MS;
}

/** Returns how far the wall clock was set since the part was recorded, negative if it was set back. */
function clockSetByMs({ atMs, notedAtMs }: DatedPart, { wallMs, monotonicMs }: Now): number {
  return wallMs - monotonicMs - (atMs - notedAtMs);
}

/** Gives a text's row without a chat the chat of its link's row. Messages stores the two separately (decision U6). */
export function joinedByLinks(rows: readonly OwnRow[]): readonly OwnRow[] {
  return rows.map((row) => {
    if (row.address !== null) return row;
    const address = rows.find(({ textGuid }) => textGuid === row.guid)?.address ?? null;
    return address === null ? row : { ...row, address };
  });
}

/** Reports whether a row with these contents may belong to one of the parts, whatever its conversation. */
export function mayFitRow(
  parts: readonly Pick<Waiting, 'afterRowId' | 'content'>[],
  rowId: number,
  contents: () => readonly string[],
): boolean {
  const waiting = parts.filter((one) => one.afterRowId < rowId);
  if (waiting.length === 0) return false;
  const hashes = contents();
  return waiting.some((one) => fits(one.content, hashes));
}

export function contentsOfRow({ body, attachmentNames }: OwnRow): readonly string[] {
  return contentHashes(body, attachmentNames);
}

/** Returns the style and the address of a person's conversation, whether its id or the address alone is given. */
export function personIn(recipient: string): string {
  return recipient.includes(';') ? addressOf(recipient) : `-;${normalAddress(recipient)}`;
}
