import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { sentPartStore } from '../../core/state/sent-parts-store.ts';
import { scheduledOnPhone } from './on-phone.ts';
import { SCHEDULED } from './port.ts';
import { ScheduledRun } from './run.ts';
import { allScheduled, SendScheduler } from './scheduler.ts';
import { scheduledStore } from './store.ts';

/** Creates the scheduler. It takes over the sends that have a time. */
export function openScheduled(core: Core): Running {
  const { host, state, connection, guests, uploads, idempotency, sender, keptFiles: files } = core;
  const { clock, log } = host;
  const store = scheduledStore(state);
  // The wall clock, not the one that stops during sleep: scheduled sends are due at a time of day.
  const parts = { store, sender, files, guests, clock, log };
  const run = new ScheduledRun({ ...parts, sentParts: sentPartStore(state), lookup: core.sentRows.lookup });
  const scheduler = new SendScheduler({ ...parts, idempotency, uploads }, run);
  core.deferrals.takenBy(scheduler);
  core.ports.provide(
    SCHEDULED,
    allScheduled(scheduler, store, () => scheduledOnPhone(connection)),
  );
  return { start: () => scheduler.start(), close: () => scheduler.close() };
}
