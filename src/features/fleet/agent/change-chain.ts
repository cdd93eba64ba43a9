import { randomBytes } from 'node:crypto';
import { isAppError } from '../../../core/model/errors.ts';
import type { LogEntry } from '../../../core/model/event.ts';
import { isShownByDefault } from '../../../core/model/narrowing.ts';
import { isAfter } from '../../../core/model/offset.ts';
import type { RowFeed } from '../../../core/model/ports/feed-ports.ts';
import {
  CHAIN_START,
  CHAIN_START_BODY,
  type ChainState,
  changesEpoch,
  type EventMessage,
  encodeEvent,
  eventId,
  isChangesEpoch,
} from '../protocol/event-message.ts';
import type { JoinedParts } from './agent.ts';

/**
 * Reads the state of one of this Mac's chains: the chain of changes if `isOfChanges`, otherwise the chain of rows.
 * `last` is this Mac's newest message in the stream. Returns undefined if `last` does not contain that state.
 */
export function chainIn(
  last: EventMessage & { readonly sequence: number },
  isOfChanges: boolean,
): ChainState | undefined {
  const state = isChangesEpoch(last.epoch) === isOfChanges ? last : last.other;
  return state !== undefined && isChangesEpoch(state.epoch) === isOfChanges ? state : undefined;
}

/**
 * Chooses where this Mac's chain of changes continues. If the stream's newest change is in this Mac's change log, the
 * chain continues after that change. Otherwise a new chain begins at the log's newest change, with sequence 0, and hubs
 * ask for the changes that they lack. `known` is the chain's state in the stream; undefined if there is none.
 */
export function changesAfter(mac: string, rowEpoch: string, known: ChainState | undefined, feed: RowFeed): ChainState {
  const newest = feed.lastPublished({ changes: true });
  const base = changesEpoch(feed.changeGeneration(), rowEpoch);
  const idOf = (epoch: string, change: number): string => {
    const page = feed.page({ rowId: newest.rowId, change: change - 1 }, 1, { changes: true });
    const [entry] = change === 0 ? [] : page.entries;
    return entry?.change === change ? eventId(mac, epoch, changeKey(entry)) : '';
  };
  let epoch = base;
  if (known?.epoch.startsWith(base) === true) {
    const id = idOf(known.epoch, known.row);
    if (known.row <= newest.change && (known.id === '' || id === '' || known.id === id)) return known;
    // A restored copy of the change log reuses numbers, so the chain needs another epoch.
    epoch = `${base}_${randomBytes(4).toString('hex')}`;
  }
  return { epoch, row: newest.change, sequence: 0, id: idOf(epoch, newest.change) };
}

/** Returns the message that tells hubs where a chain of changes begins. */
export function chainStart(
  { mac, instance, envelope }: Pick<JoinedParts, 'mac' | 'instance' | 'envelope'>,
  id: string,
  { epoch, row }: ChainState,
  rows: ChainState,
): ReturnType<typeof encodeEvent> {
  const given = { mac, epoch, row, previousRow: row, previousSequence: 0, other: rows };
  return encodeEvent({ ...given, type: CHAIN_START, id, instance, isMetadata: false }, CHAIN_START_BODY, envelope);
}

/**
 * Returns the first changes with numbers greater than `after` and less than `before`, at most `limit` and without
 * hidden messages. Returns an empty list if there are none, and null if the change log no longer has them.
 */
export function loggedChanges(
  feed: RowFeed,
  { after, before, limit }: { readonly after: number; readonly before: number; readonly limit: number },
): readonly LogEntry[] | null {
  const { rowId } = feed.lastPublished({ changes: true });
  let position = { rowId, change: after };
  try {
    feed.resolve({ ...position, generation: feed.changeGeneration() }, { changes: true });
  } catch (error) {
    if (isAppError(error) && error.code === 'offset_expired') return null;
    throw error;
  }
  for (;;) {
    const { entries, upTo } = feed.page(position, limit, { changes: true });
    const found = entries.filter((entry) => (entry.change ?? before) < before && isShownByDefault(entry));
    if (found.length > 0 || upTo.change >= before - 1 || !isAfter(upTo, position)) return found;
    position = upTo;
  }
}

/** Returns the text that `eventId` hashes for a change. For a row, `eventId` hashes the guid instead. */
export function changeKey({ change, rowId, event }: LogEntry): string {
  // The text for a change must stay the same, so it omits the range of ids in messages.changed, which grows with new
  // rows.
  const what =
    event.type === 'message.updated' ? [rowId, event.changes] : event.type === 'message.removed' ? [rowId] : [];
  return JSON.stringify(['change', change, event.type, ...what]);
}
