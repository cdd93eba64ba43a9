import type { Log } from '../../domain/ports/host.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { encodeEvent, eventId } from '../protocol/event-message.ts';
import { HEADERS } from '../protocol/layout.ts';
import type { RowEvent } from '../protocol/reads.ts';
import type { MacReads } from './mac-reads.ts';
import type { Filled, Hole } from './stream-copy.ts';

/** The stream waits meanwhile, so what lacks more is left out beyond this. */
const MAX_ROWS = 2000;

export interface HolesParts {
  readonly reads: MacReads;
  readonly envelope: Envelope;
  readonly log: Log;
}

/** Reads what the stream lacks from the Mac that published it: chat.db has everything. */
export class Holes {
  readonly #parts: HolesParts;
  /** Rows that their Macs gave, and holes of which something may be missing. */
  readonly counts = { filled: 0, missing: 0 };

  constructor(parts: HolesParts) {
    this.#parts = parts;
  }

  /** In order, and sealed as they would have come. Rows that were deleted from chat.db are not among them. */
  async fill(hole: Hole): Promise<readonly Filled[]> {
    const { mac, epoch, after, before } = hole;
    const { reads, log } = this.#parts;
    const filled: Filled[] = [];
    try {
      for (let from = after; filled.length < MAX_ROWS; ) {
        const events = await reads.events(mac, { epoch, after: from, before });
        const rows = events?.filter(({ row }) => row > from && row < before) ?? [];
        filled.push(...rows.map((event) => this.#sealed(hole, event)));
        if (events === undefined) throw new Error('it has another database by now');
        from = rows.at(-1)?.row ?? before;
        if (from >= before - 1) {
          log.info('read from a Mac what the stream lacked', { mac, after, before, rows: filled.length });
          return this.#counted(filled);
        }
      }
      throw new Error(`more than ${MAX_ROWS} rows`);
    } catch (error) {
      this.counts.missing += 1;
      const reason = (error as Error).message;
      log.warn('the stream lacks rows of a Mac, and the Mac did not give them all', { mac, after, before, reason });
      return this.#counted(filled);
    }
  }

  #counted(filled: readonly Filled[]): readonly Filled[] {
    this.counts.filled += filled.length;
    return filled;
  }

  #sealed({ mac, epoch, after }: Hole, { row, guid, type, json }: RowEvent): Filled {
    const messageId = eventId(mac, epoch, guid);
    const message = { mac, epoch, row, previousRow: after, type, id: messageId, instance: '', isMetadata: false };
    const { headers, body } = encodeEvent(message, json, this.#parts.envelope);
    return { row, type, messageId, keyId: headers.get(HEADERS.key) || null, body };
  }
}
