import { systemClock } from '../../dist/src/core/runtime/clock.js';
import { Chance } from '../../dist/src/features/simulator/chatter.js';
import { Messages } from '../../dist/src/features/simulator/simulated-messages.js';

const PERSON = '+15550100';
/**
 * Maximum milliseconds by which this process may be late to complete a row. The service waits 500 ms for the mark of an
 * own row, which comes within 300 ms. If this process is later, it leaves the row incomplete, as a killed one does, so
 * that chat.db still shows what the service had to report.
 */
const MOST_LATE_MS = 100;

const LATE = new Error('too late to complete the row');

/** Kinds of rows and their shares: at least half are ordinary, as on a Mac. */
const KINDS = [
  ['received', 40],
  ['sent', 12],
  ['reaction', 8],
  ['joined late', 10],
  ['unmarked without handle', 8],
  ['unmarked with handle', 6],
  ['woken', 4],
  ['backfilled', 4],
  ['link', 4],
  ['unsent', 4],
].flatMap(([kind, share]) => Array(share).fill(kind));

/** Writes rows into the chat.db below `home` as the simulated Messages does, the kinds drawn from a seed. */
export class SimulatedRows {
  #messages;
  #chance;
  /** A time before the rows that are being written were committed. */
  #sinceMs = 0;

  constructor(home, seed) {
    const after = (ms, run) => {
      const limitMs = this.#sinceMs + ms + MOST_LATE_MS;
      return systemClock.after(ms, () => this.#complete(run, limitMs));
    };
    this.#messages = new Messages({ home, version: '26', clock: { ...systemClock, after } });
    this.#chance = new Chance(seed);
  }

  /** Runs `run` in one commit, and takes it back if the commit would be late. */
  #complete(run, limitMs) {
    try {
      this.#sinceMs = performance.now();
      this.#messages.database.transaction(() => {
        run();
        if (performance.now() > limitMs) throw LATE;
      });
    } catch (error) {
      if (error !== LATE) throw error;
    }
  }

  /** Writes one message of a random kind, or unsends one of the newest. */
  write() {
    const kind = this.#chance.of(KINDS);
    const newest = this.#messages.database.newestRow();
    switch (kind) {
      case 'received':
        return this.#do({ do: 'receive', from: PERSON, text: kind });
      case 'joined late':
        return this.#do({ do: 'receive', from: PERSON, text: kind, joinAfterMs: 1 + this.#chance.below(299) });
      case 'sent':
        return this.#own('marked', kind);
      case 'unmarked without handle':
        return this.#own('without_handle', kind);
      case 'unmarked with handle':
        return this.#own('with_handle', kind);
      case 'woken':
        return this.#do({ do: 'wake', from: PERSON, count: 1 + this.#chance.below(3), hours: 8 });
      case 'backfilled':
        return this.#do({ do: 'backfill', from: PERSON, count: 1 });
      case 'link':
        return this.#do({ do: 'link', from: PERSON, text: 'look at', url: 'https://example.com/' });
      case 'reaction':
        if (this.#messages.database.chatOf(newest) === undefined) return undefined;
        return this.#do({ do: 'react', from: PERSON, to: newest, type: 2000 });
      default:
        return this.unsend(this.#unsendable());
    }
  }

  /** Does nothing if the row does not exist. */
  unsend(row) {
    if (this.#messages.database.guid(row) !== '') this.#do({ do: 'unsend', row });
  }

  /**
   * Returns one of the newest messages. Rows that may be reported either way keep their text, by which the tests
   * recognize them.
   */
  #unsendable() {
    const query = `SELECT ROWID FROM message
                    WHERE associated_message_type = 0 AND instr(attributedBody, CAST('with handle' AS BLOB)) = 0
                    ORDER BY ROWID DESC LIMIT 1 OFFSET ?`;
    return Number(this.#messages.database.sqlite.prepare(query).get(this.#chance.below(20))?.[0] ?? 0);
  }

  #own(ownRows, text) {
    this.#do({ do: 'behave', ownRows, seed: this.#chance.below(2 ** 32) });
    this.#do({ do: 'write', to: PERSON, text });
  }

  /** Returns once everything but the delayed parts is written. */
  #do(command) {
    this.#sinceMs = performance.now();
    this.#messages.perform(command).catch((error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    });
  }
}
