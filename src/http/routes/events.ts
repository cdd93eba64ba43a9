import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEntry } from '../../domain/event.ts';
import { isAfter } from '../../domain/offset.ts';
import type { EventFeed } from '../../domain/ports/feed.ts';
import { eventsQuery } from '../../wire/extras.ts';
import { readQuery } from '../../wire/query.ts';
import type { Handlers } from '../router.ts';

/** Entries read at once: a few milliseconds' work, so that a long answer does not delay others. */
const BATCH_SIZE = 200;

/** Events after an offset, for clients that ask instead of listening (decision G4). */
export function eventRoutes(feed: EventFeed): Pick<Handlers, 'listEvents'> {
  return {
    async listEvents({ query }) {
      const { after, limit } = readQuery(eventsQuery, query);
      const entries: LogEntry[] = [];
      for (let wanted = limit; wanted > 0; wanted = limit - entries.length) {
        if (entries.length > 0) await nextTurn();
        const some = feed.page(entries.at(-1)?.offset ?? after, Math.min(wanted, BATCH_SIZE));
        entries.push(...some);
        const end = some.at(-1);
        if (end === undefined || !isAfter(feed.lastPublished(), end.offset)) break;
      }
      return { status: 200, body: entries.map(({ event }) => event) };
    },
  };
}
