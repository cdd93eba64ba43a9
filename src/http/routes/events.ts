import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IncludeSet } from '../../domain/include.ts';
import { encodeOffset, isAfter } from '../../domain/offset.ts';
import { eventsQuery } from '../../wire/event.ts';
import type { EventJson } from '../../wire/event-json.ts';
import { readQuery } from '../../wire/query.ts';
import { API } from '../../wire/routes.ts';
import { nextPage } from '../pagination.ts';
import type { Handlers } from '../router.ts';

/** Entries read at once: a few milliseconds' work, so that a long answer does not delay others. */
const BATCH_SIZE = 200;

/** Rows looked at in one request, of which a limited key may see few. */
const MAX_LOOKED = 5000;
const EVERYTHING = (): boolean => true;

export interface EventSource {
  readonly json: EventJson;
  /** Resolves when what is to be included can be had; undefined when it can be now. */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
}

/** Events after an offset, for clients that ask instead of listening (decision G4). */
export function eventRoutes({ json, ready }: EventSource): Pick<Handlers, 'listEvents'> {
  return {
    async listEvents({ query, caller: { feed, admits = EVERYTHING, key, contacts } }) {
      const { after, changes, limit, include } = readQuery(eventsQuery, query);
      await ready(include);
      const texts: string[] = [];
      let position = feed.resolve(after, { changes });
      // Taken first: if the log is begun again meanwhile, the next request is told so.
      const generation = feed.changeGeneration();
      const names = key && contacts.names;
      let looked = 0;
      for (;;) {
        const page = feed.page(position, Math.min(limit - texts.length, BATCH_SIZE), { changes });
        texts.push(...page.entries.filter(admits).map((entry) => json(entry, include, names)));
        looked += page.entries.length;
        position = page.upTo;
        // With changes a page without entries is not the end.
        if (texts.length >= limit || looked >= MAX_LOOKED) break;
        if (!isAfter(feed.lastPublished({ changes }), position)) break;
        await nextTurn();
      }
      const answer = { status: 200, content: { type: 'application/json', text: `[${texts.join()}]` } };
      if (!changes && key === undefined) return answer;
      // With changes there is always a position to go on from (decision I2), and for a limited key behind what it was
      // not shown.
      const link = nextPage(`${API}/events`, [
        ...(changes ? [['changes', 'true'] as const] : []),
        ['limit', String(limit)],
        ...(include.size === 0 ? [] : [['include', [...include].join()] as const]),
        ['after', changes ? encodeOffset(position, generation) : String(position.rowId)],
      ]);
      return { ...answer, headers: { Link: link } };
    },
  };
}
