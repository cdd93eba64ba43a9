import { hubCapabilities } from '../../../core/model/capabilities.ts';
import { MS_PER_S } from '../../../core/model/durations.ts';
import type { BackendHealth } from '../../../core/model/ports/reading-ports.ts';
import { droppedWarnings, type FleetMac, type StatusReport, type WebhookSummary } from '../../../core/model/status.ts';
import type { ClaimNames } from '../protocol/fleet-records-schema.ts';
import { clockTrouble } from '../protocol/presence.ts';
import type { HubParts } from './hub-parts.ts';
import { type KnownMac, type Macs, plainAddress } from './macs.ts';
import type { Readiness } from './readiness.ts';
import type { SendLeases } from './send-leases.ts';
import type { StreamCopy } from './stream-copy.ts';
import { changesOf, isOfChanges } from './waiting-table.ts';

const MAX_MESSAGES = 5;

export interface HubStatusParts extends HubParts {
  readonly leases: SendLeases;
  readonly version: string;
  readonly copy: StreamCopy;
  readonly readiness: Readiness;
  /** The Macs that sent rows that this hub cannot read. */
  readonly unreadable: ReadonlySet<string>;
  readonly newestOffset: () => string;
  readonly webhooks: () => Promise<readonly WebhookSummary[]>;
}

/** Reports the health and status of a hub, of the broker and of every Mac of the fleet. */
export class HubStatus {
  readonly #parts: HubStatusParts;
  readonly #startedAtMs: number;
  #newestAtMs: number | undefined;

  constructor(parts: HubStatusParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  /** Records the time at which this hub published an event, for the age in the status. */
  noteEvent(): void {
    this.#newestAtMs = this.#parts.clock.monotonic();
  }

  health(): BackendHealth {
    const { connection, copy, macs, readiness, brokerClock, store, unreadable } = this.#parts;
    if (!connection.isConnected) {
      return { connected: false, message: `The broker cannot be reached: ${connection.trouble ?? 'not connected'}.` };
    }
    if (copy.trouble !== undefined) {
      return { connected: false, message: `The stream of events cannot be read: ${copy.trouble}.` };
    }
    if (readiness.isKeyWrong) {
      const message =
        'This hub cannot read what the Macs and other hubs write, because its fleet.content_key_file differs from theirs.';
      return { connected: false, message };
    }
    if (!copy.isFilled) return { connected: true, message: 'The stream of events is being read for the first time.' };
    const known = macs.list();
    const away = known.filter((mac) => macs.isAway(mac)).length;
    const verb = away === 1 ? 'is' : 'are';
    const reasons = readiness.reasons();
    const clock = clockTrouble(-(brokerClock.aheadMs ?? 0));
    const messages = [
      ...(clock === undefined ? [] : [`The clock of this machine is ${clock}.`]),
      ...(reasons.includes('behind') ? ['This hub is behind the stream of events.'] : []),
      ...(away === 0 ? [] : [`${away} of ${known.length} Macs ${verb} away.`]),
      ...known.flatMap(({ mac }) => refusalMessage(mac, macs.machinesOf(mac))),
      ...[...unreadable].map((mac) => `${mac} sends rows that this hub cannot read: update the hub.`),
      ...store.waitingQueues().flatMap((queue) => {
        const { mac, after, last, before } = store.hole(queue) ?? {};
        if (after === undefined || last === undefined) return [];
        const rows = after < last ? `${after + 1} to ${last}` : `before ${before}`;
        const [events, what] = isOfChanges(queue) ? ['Changes', 'changes'] : ['Events', 'rows'];
        return `${events} of ${mac} wait: the stream lacks ${what} ${rows}, and the Mac has not supplied them yet.`;
      }),
    ];
    return { connected: true, message: messages.length === 0 ? null : messages.slice(0, MAX_MESSAGES).join(' ') };
  }

  /**
   * Returns a report of each Mac. Takes the holders of the pairs' leases from the previous read, and starts a new read
   * for the next call.
   */
  macs(): readonly FleetMac[] {
    void this.#parts.leases.refresh();
    return this.#macs();
  }

  #macs(): readonly FleetMac[] {
    return this.#parts.macs.list().map((mac) => this.#reportOf(mac));
  }

  async report(): Promise<StatusReport> {
    const { version, clock, leases, webhooks, newestOffset } = this.#parts;
    await leases.refresh();
    const summaries = await webhooks();
    const warnings = droppedWarnings(summaries);
    const nowMs = clock.monotonic();
    const ageMs = this.#newestAtMs === undefined ? undefined : nowMs - this.#newestAtMs;
    return {
      version,
      uptime_s: Math.floor((nowMs - this.#startedAtMs) / MS_PER_S),
      backend: this.health(),
      // A row id is meaningful only together with its Mac, so a hub has no newest row.
      newest_row: null,
      newest_event: {
        row_id: 0,
        age_s: ageMs === undefined ? null : Math.floor(ageMs / MS_PER_S),
        offset: newestOffset(),
      },
      macs: this.#macs(),
      webhooks: summaries,
      ...(warnings.length > 0 && { warnings }),
      permissions: [],
      capabilities: hubCapabilities(),
    };
  }

  #reportOf(known: KnownMac): FleetMac {
    const { macs, store, leases, clock } = this.#parts;
    const { mac, presence, seenAtMs } = known;
    const { member, isPair } = macs.nameOf(mac);
    const state = macs.isAway(known) ? 'away' : presence === undefined ? 'unreadable' : 'present';
    const { holder, refused } = macs.machinesOf(mac) ?? {};
    // An agent counts a hidden row as published without sending it, so `publishedRow` may exceed the rows that hubs
    // have.
    const copied = presence && Math.max(store.lastRow(mac, presence.epoch) ?? 0, presence.publishedRow);
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
      ...(isPair && { pair: member, sends: leases.lastHolder(member) === mac }),
      changes: presence?.last?.changes !== undefined,
      open_holes: store.holes(mac) + store.holes(changesOf(mac)),
      ...(holder && { machine: holder.name }),
      ...(refused && { refused_machine: refused.name }),
    };
  }
}

function refusalMessage(mac: string, names: ClaimNames | undefined): readonly string[] {
  if (names?.refused === undefined) return [];
  const { holder, refused } = names;
  return [
    `"${refused.name}" has the key of ${mac}, but ${mac} belongs to "${holder.name}". So "${refused.name}" takes no part in the fleet.`,
  ];
}

/**
 * Returns the addresses of a Mac that are also announced by a Mac outside its pair. A compromised Mac may announce
 * anyone's address.
 */
function sharedAddresses({ mac, presence }: KnownMac, macs: Macs): readonly string[] {
  const { member } = macs.nameOf(mac);
  const strangers = macs.list().filter((other) => macs.nameOf(other.mac).member !== member);
  const others = new Set(strangers.flatMap((other) => (other.presence?.addresses ?? []).map(plainAddress)));
  return presence?.addresses.filter((address) => others.has(plainAddress(address))) ?? [];
}
