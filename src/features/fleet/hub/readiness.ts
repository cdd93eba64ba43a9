import { clockTrouble } from '../protocol/presence.ts';
import type { HubParts } from './hub-parts.ts';
import type { StreamCopy } from './stream-copy.ts';

/** A hub counts as behind once its copy has lagged behind the stream for this long. */
const BEHIND_MS = 5000;

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

export interface ReadinessParts extends HubParts {
  readonly copy: StreamCopy;
  /** Reports whether the lease of webhooks is sealed with a content key that this hub lacks. */
  readonly isLeaseUnreadable: () => boolean;
}

/**
 * Decides whether a hub can serve (decision N4). Load balancers poll the answer, and a hub takes a lease only if it can
 * serve.
 */
export class Readiness {
  readonly #parts: ReadinessParts;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** True if this hub's content key cannot open any Mac's presence, or cannot open the lease of webhooks. */
  get isKeyWrong(): boolean {
    const macs = this.#parts.macs.list();
    const isEveryMacUnreadable = macs.length > 0 && macs.every(({ presence }) => presence === undefined);
    return isEveryMacUnreadable || this.#parts.isLeaseUnreadable();
  }

  /** Returns the reasons why the hub cannot serve; empty if it can. */
  reasons(): readonly HubReason[] {
    const { connection, copy, macs, brokerClock } = this.#parts;
    const found: Readonly<Record<HubReason, boolean>> = {
      broker_away: !connection.isConnected,
      content_key_wrong: this.isKeyWrong,
      copy_failing: connection.isConnected && copy.trouble !== undefined,
      filling: !copy.isFilled || !macs.isLoaded,
      behind: copy.behindMs > BEHIND_MS,
      clock_differs: clockTrouble(brokerClock.aheadMs ?? 0) !== undefined,
    };
    return HUB_REASONS.filter((reason) => found[reason]);
  }
}
