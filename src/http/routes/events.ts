import type { EventFeed } from '../../domain/ports.ts';
import { eventsQuery } from '../../wire/extras.ts';
import { readQuery } from '../../wire/query.ts';
import type { Handlers } from '../route.ts';

/** Events after a row id, for those who ask instead of listening (G4). */
export function eventRoutes(feed: EventFeed): Pick<Handlers, 'listEvents'> {
  return {
    listEvents({ query }) {
      const { after, limit } = readQuery(eventsQuery, query);
      return { status: 200, body: feed.page(after, limit).map(({ event }) => event) };
    },
  };
}
