import { hubCapabilities } from '../../domain/capabilities.ts';
import type { Clock } from '../../domain/ports/host.ts';
import type { BackendHealth } from '../../domain/ports/reading.ts';
import type { FleetMac, StatusReport, WebhookSummary } from '../../domain/status.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { BrokerClock } from './broker-clock.ts';
import type { EventStore } from './event-store.ts';
import { type KnownMac, type Macs, plainAddress } from './macs.ts';
import type { Readiness } from './readiness.ts';
import type { Hole } from './stored-event.ts';
import type { StreamCopy } from './stream-copy.ts';

const MS_PER_S = 1000;
const MAX_MESSAGES = 5;

export interface HubStatusParts {
  readonly version: string;
  readonly clock: Clock;
  readonly connection: FleetConnection;
  readonly copy: StreamCopy;
  readonly store: EventStore;
  readonly macs: Macs;
  readonly readiness: Readiness;
  readonly brokerClock: BrokerClock;
  readonly newestOffset: () => string;
  readonly webhooks: () => Promise<readonly WebhookSummary[]>;
}

/** Health and status of a hub: the broker, and every Mac of the fleet. */
export class HubStatus {
  readonly #parts: HubStatusParts;
  readonly #startedAtMs: number;
  #newestAtMs: number | undefined;

  constructor(parts: HubStatusParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  /** Called when an event was published. */
  noteEvent(): void {
    this.#newestAtMs = this.#parts.clock.monotonic();
  }

  health(): BackendHealth {
    const { connection, copy, macs, readiness } = this.#parts;
    if (!connection.isConnected) {
      return { connected: false, message: `The broker cannot be reached: ${connection.trouble ?? 'not connected'}.` };
    }
    if (copy.trouble !== undefined) {
      return { connected: false, message: `The stream of events cannot be read: ${copy.trouble}.` };
    }
    if (readiness.isKeyWrong) {
      const message =
        'This hub cannot read what the Macs and other hubs write: its fleet.content_key_file is not theirs.';
      return { connected: false, message };
    }
    if (!copy.isFilled) return { connected: true, message: 'The stream of events is being read for the first time.' };
    const known = macs.list();
    const away = known.filter((mac) => macs.isAway(mac)).length;
    const verb = away === 1 ? 'is' : 'are';
    const reasons = readiness.reasons();
    const messages = [
      ...(reasons.includes('clock_differs') ? [this.#clockMessage()] : []),
      ...(reasons.includes('behind') ? ['This hub is behind the stream of events.'] : []),
      ...(away === 0 ? [] : [`${away} of ${known.length} Macs ${verb} away.`]),
      ...this.#holes().map(
        ({ mac, after, last }) =>
          `Events of ${mac} wait: the stream lacks rows ${after + 1} to ${last}, and the Mac has not supplied them yet.`,
      ),
    ];
    return { connected: true, message: messages.length === 0 ? null : messages.slice(0, MAX_MESSAGES).join(' ') };
  }

  #clockMessage(): string {
    const aheadMs = this.#parts.brokerClock.aheadMs ?? 0;
    const seconds = Math.round(Math.abs(aheadMs) / MS_PER_S);
    return `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the broker's.`;
  }

  #holes(): readonly Hole[] {
    const { store } = this.#parts;
    return store.hasHoles ? store.holes() : [];
  }

  macs(): readonly FleetMac[] {
    return this.#parts.macs.list().map((mac) => this.#reportOf(mac));
  }

  async report(): Promise<StatusReport> {
    const { version, clock, webhooks, newestOffset } = this.#parts;
    const nowMs = clock.monotonic();
    const ageMs = this.#newestAtMs === undefined ? undefined : nowMs - this.#newestAtMs;
    return {
      version,
      uptime_s: Math.floor((nowMs - this.#startedAtMs) / MS_PER_S),
      backend: this.health(),
      // Row ids mean something on one Mac alone.
      newest_row: null,
      newest_event: {
        row_id: 0,
        age_s: ageMs === undefined ? null : Math.floor(ageMs / MS_PER_S),
        offset: newestOffset(),
      },
      macs: this.macs(),
      webhooks: await webhooks(),
      permissions: [],
      capabilities: hubCapabilities(),
    };
  }

  #reportOf(known: KnownMac): FleetMac {
    const { macs, store, clock } = this.#parts;
    const { mac, presence, seenAtMs } = known;
    const state = macs.isAway(known) ? 'away' : presence === undefined ? 'unreadable' : 'present';
    const copied = presence && (store.lastRow(mac, presence.epoch) ?? presence.publishedRow);
    return {
      id: mac,
      state,
      version: presence?.version ?? null,
      addresses: presence?.addresses ?? [],
      seen_s: Math.max(0, Math.floor((clock.monotonic() - seenAtMs) / MS_PER_S)),
      backend: presence?.health ?? null,
      newest_row: presence?.newestRow ?? null,
      behind: presence === undefined || copied === undefined ? null : Math.max(0, presence.newestRow - copied),
      shared_addresses: sharedAddresses(known, macs),
      ...(macs.nameOf(mac).isPair && { pair: macs.nameOf(mac).member }),
      open_holes: this.#holes().filter((hole) => hole.mac === mac).length,
    };
  }
}

/** The addresses of a Mac that others announce too. A Mac that was taken over may announce anybody's. */
function sharedAddresses({ mac, presence }: KnownMac, macs: Macs): readonly string[] {
  const { member } = macs.nameOf(mac);
  const strangers = macs.list().filter((other) => macs.nameOf(other.mac).member !== member);
  const others = new Set(strangers.flatMap((other) => (other.presence?.addresses ?? []).map(plainAddress)));
  return presence?.addresses.filter((address) => others.has(plainAddress(address))) ?? [];
}
