import { pastEvents } from '../../core/chatdb/public.ts';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { isShownByDefault } from '../../core/model/narrowing.ts';
import { startOfLocalDay } from '../../core/runtime/clock.ts';
import { ACCESS, APPROVALS } from '../access/port.ts';
import { HomePage } from './home-page.ts';
import { OVERVIEW } from './port.ts';
import { Statistics } from './statistics.ts';
import { statisticStore } from './statistics-store.ts';

/**
 * Opens the statistics, and makes them count published events, deliveries, and the outcomes of sends. Hidden messages
 * do not count as events.
 */
export function openOverview(core: Core): Running {
  const { state, host, closers, counters, channel, connection, owner, ports, watchDeliveries } = core;
  const { clock, log } = host;
  const statistics = new Statistics({
    store: statisticStore(state),
    past: pastEvents(connection),
    clock,
    log,
    startOfDay: startOfLocalDay,
  });
  counters.sends.onInc = ({ outcome }) => statistics.countSend(outcome);
  watchDeliveries(statistics);
  channel.join(
    statistics.reader({
      published: () => channel.published,
      from: (sequence, limit) => channel.from(sequence, limit).entries.filter(isShownByDefault),
    }),
  );
  ports.provide(
    OVERVIEW,
    new HomePage({
      ...core,
      access: ports.get(ACCESS),
      approvals: ports.get(APPROVALS).own,
      statistics,
      status: () => owner.status(),
    }),
  );
  // Not `Running.close`: what ends at the same time is still counted.
  closers.add('counters', () => statistics.flush());
  return { start: () => void statistics.fill() };
}
