import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { sentPartStore } from '../../core/state/sent-parts-store.ts';
import { scheduledOnPhone } from './on-phone.ts';
import { SCHEDULED } from './port.ts';
import { SendScheduler } from './scheduler.ts';
import { scheduledStore } from './store.ts';

/** Creates the scheduler. It takes over the sends that have a time. */
export function openScheduled(core: Core): Running {
  const { host, state, connection, guests, uploads, idempotency, sender, keptFiles: files } = core;
  const { clock, log } = host;
  const scheduler = new SendScheduler({
    idempotency,
    sender,
    files,
    log,
    // The wall clock, not the one that stops during sleep: scheduled sends are due at a time of day.
    clock,
    store: scheduledStore(state),
    sentParts: sentPartStore(state),
    otherBytes: () => uploads.bytes + guests.keptBytes(),
    admit: (entry) => guests.admitDue(entry),
    onEnd: (entry, outcome) => guests.noteDeferred(entry, outcome),
    onPhone: () => scheduledOnPhone(connection),
  });
  core.deferrals.takenBy(scheduler);
  core.ports.provide(SCHEDULED, scheduler.entries);
  return { start: () => scheduler.start(), close: () => scheduler.close() };
}
