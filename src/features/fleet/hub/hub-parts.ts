import type { Clock, Log } from '../../../core/model/ports/host-ports.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import type { BrokerClock } from './broker-clock.ts';
import type { EventReader } from './event-reader.ts';
import type { EventStore } from './event-store.ts';
import type { MacReads } from './mac-reads.ts';
import type { Macs } from './macs.ts';
import type { PairChanges } from './pair-changes.ts';
import type { Pairs } from './pairs.ts';

/** The parts of a hub that several of its modules use. */
export interface HubParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly pairs: Pairs;
  readonly macs: Macs;
  readonly reads: MacReads;
  readonly reader: EventReader;
  readonly store: EventStore;
  readonly pairChanges: PairChanges;
  readonly brokerClock: BrokerClock;
  readonly clock: Clock;
  readonly log: Log;
}
