import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { SendLookup } from '../model/ports/sending-ports.ts';
import type { SentPartStore } from '../model/ports/sent-parts-ports.ts';
import { Confirmations } from './confirmations.ts';
import { Origins } from './origins.ts';
import { tolerantLookup } from './tolerant-lookup.ts';

export interface SentRowsParts {
  readonly lookup: SendLookup;
  readonly sentParts: SentPartStore;
  readonly clock: Clock;
  readonly log: Log;
  /** `send.confirm_ms` (decision D5). */
  readonly confirmMs: number;
  /** Registers `look`, which is called when chat.db may have changed. */
  readonly onChange?: (look: () => void) => Cancel;
}

/** Finds the rows of sent messages. It sends nothing, so the event log can ask it before there is a sender. */
export function openSentRows({ lookup: strict, sentParts: store, clock, log, confirmMs, onChange }: SentRowsParts) {
  const lookup = tolerantLookup(strict, log);
  const confirmations = new Confirmations({
    lookup,
    store,
    clock,
    log,
    confirmMs,
    ...(onChange === undefined ? {} : { onChange }),
  });
  return {
    lookup,
    strictLookup: strict,
    confirmations,
    sentParts: store,
    origins: new Origins({ store, confirmations, lookup, log }),
  };
}

export type SentRows = ReturnType<typeof openSentRows>;
