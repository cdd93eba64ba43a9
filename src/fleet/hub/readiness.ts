import type { FleetConnection } from '../protocol/connection.ts';
import type { BrokerClock } from './broker-clock.ts';
import type { Macs } from './macs.ts';
import type { StreamCopy } from './stream-copy.ts';

/** A hub is behind once it has not been level with the stream for this long. */
const BEHIND_MS = 5000;
/** A clock that differs by more cannot be used for deadlines. */
const MAX_DIFFERENCE_MS = 5000;

/** The reasons why a hub cannot serve (decision N4). */
export const HUB_REASONS = [
  'broker_away',
  'content_key_wrong',
  'copy_failing',
  'filling',
  'behind',
  'clock_differs',
] as const;
export type HubReason = (typeof HUB_REASONS)[number];

export interface ReadinessParts {
  readonly connection: FleetConnection;
  readonly copy: StreamCopy;
  readonly macs: Macs;
  readonly brokerClock: BrokerClock;
  /** Reports whether this hub cannot read the lease of webhooks. */
  readonly isLeaseUnreadable: () => boolean;
}

/** Decides whether a hub can serve: a balancer asks, and a hub that cannot takes no lease (decision N4). */
export class Readiness {
  readonly #parts: ReadinessParts;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** True if this hub cannot read what Macs and other hubs write, so its content key is not theirs. */
  get isKeyWrong(): boolean {
    const macs = this.#parts.macs.list();
    const isEveryMacUnreadable = macs.length > 0 && macs.every(({ presence }) => presence === undefined);
    return isEveryMacUnreadable || this.#parts.isLeaseUnreadable();
  }

  /** Empty if the hub can serve. */
  reasons(): readonly HubReason[] {
    const { connection, copy, macs, brokerClock } = this.#parts;
    const found: Readonly<Record<HubReason, boolean>> = {
      broker_away: !connection.isConnected,
      content_key_wrong: this.isKeyWrong,
      copy_failing: connection.isConnected && copy.trouble !== undefined,
      filling: !copy.isFilled || !macs.isLoaded,
      behind: copy.behindMs > BEHIND_MS,
      clock_differs: Math.abs(brokerClock.aheadMs ?? 0) > MAX_DIFFERENCE_MS,
    };
    return HUB_REASONS.filter((reason) => found[reason]);
  }
}
