import { randomUUID } from 'node:crypto';
import type { LogEntry } from '../../../core/model/event.ts';
import type { FleetSettings } from '../../../core/model/fleet.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import type { MessageLog, RowFeed } from '../../../core/model/ports/feed-ports.ts';
import type { FleetReport, FleetStore } from '../../../core/model/ports/fleet-ports.ts';
import type { Clock, Log } from '../../../core/model/ports/host-ports.ts';
import type { AttachmentReader, BackendHealth, MessageReader } from '../../../core/model/ports/reading-ports.ts';
import type { CallerSender, SendRequest } from '../../../core/model/ports/sending-ports.ts';
import type { Checked } from '../../../core/schema/mistakes.ts';
import { FleetConnection, readEnvelope } from '../protocol/connection.ts';
import { agentKeys, type Envelope } from '../protocol/envelope.ts';
import { claimIdentity, isForbidden, type MachineClaim, machineHash } from '../protocol/machine-claim.ts';
import { Answers } from './answers.ts';
import { Membership } from './membership.ts';
import { PresenceBeat } from './presence-beat.ts';
import { SendQueue } from './send-queue.ts';
import { Uplink } from './uplink.ts';

export interface AgentParts {
  readonly settings: FleetSettings;
  readonly version: string;
  readonly store: FleetStore;
  readonly feed: RowFeed;
  readonly messages: MessageLog;
  /** `reader`, `attachments` and `sender` act as the owner, because a hub has the owner's rights. */
  readonly reader: MessageReader;
  readonly attachments: AttachmentReader;
  readonly sender: CallerSender;
  readonly json: (entry: LogEntry) => Promise<string>;
  readonly checkSend: (request: unknown) => Checked<Pick<SendRequest, 'recipient' | 'body' | 'attachments'>>;
  /** Reports whether this Mac stores an outcome for this Idempotency-Key. A stored outcome is final (decision D9). */
  readonly isKept: (key: string) => boolean;
  readonly health: () => BackendHealth;
  /** Returns the owner's phone numbers and e-mail addresses. Throws while chat.db is unavailable. */
  readonly addresses: () => readonly string[];
  readonly rowOfGuid: (guid: string) => number | undefined;
  /**
   * Returns the hardware's id and the machine's name; undefined if the hardware has no id. The id is not on the disk,
   * so a copy of the disk in another machine comes with another id.
   */
  readonly machine: () => Promise<MachineId | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface MachineId {
  readonly id: string;
  readonly name: string;
}

/** The parts that the modules of an agent share. */
export interface JoinedParts extends AgentParts {
  readonly connection: FleetConnection;
  readonly membership: Membership;
  readonly envelope: Envelope;
  readonly mac: string;
  /** Differs for each run of the agent. */
  readonly instance: string;
}

/** Connects this Mac to a fleet. The local service works the same with and without the broker. */
export class FleetAgent {
  readonly #parts: AgentParts;
  readonly #mac: string;
  readonly #connection: FleetConnection;
  readonly #membership: Membership;
  readonly #uplink: Uplink;
  readonly #sends: SendQueue;
  readonly #answers: Answers;
  readonly #presence: PresenceBeat;
  #isStarted = false;

  /** Throws `fleet_file_unreadable` or `fleet_key_unusable` if a content key cannot be read or used. */
  constructor(parts: AgentParts) {
    const { settings, store, clock } = parts;
    const mac = settings.mac === '' ? store.ownMac() : settings.mac;
    const log = parts.log.child({ mac });
    const instance = randomUUID();
    const envelope = readEnvelope(settings, agentKeys);
    this.#parts = parts;
    this.#mac = mac;
    const connection = new FleetConnection(settings, { clock, log, name: mac });
    this.#connection = connection;
    const membership = new Membership({
      connection,
      mac,
      instance,
      claim: (isAnswered) => this.#claim(envelope, isAnswered),
      clock,
      log,
    });
    this.#membership = membership;
    const joined: JoinedParts = { ...parts, connection, membership, envelope, mac, instance, log };
    this.#uplink = new Uplink(joined);
    this.#sends = new SendQueue(joined);
    this.#answers = new Answers(joined, () => this.#uplink.last?.changes?.epoch);
    this.#presence = new PresenceBeat(joined, () => ({
      version: parts.version,
      instance,
      epoch: store.epoch(),
      newestRow: parts.feed.lastPublished().rowId,
      publishedRow: this.#uplink.position?.rowId ?? 0,
      last: this.#uplink.last,
      addresses: this.#addresses(),
      health: parts.health(),
    }));
    membership.onChange(() => this.#follow());
  }

  /** Starts publishing, sending and answering. Before this call the agent is only connected. */
  start(): void {
    this.#isStarted = true;
    this.#uplink.start();
    this.#follow();
  }

  report(): FleetReport {
    const { feed } = this.#parts;
    const published = this.#uplink.position?.rowId;
    const newest = feed.lastPublished().rowId;
    const isRefused = this.#membership.state === 'refused';
    const { isConnected, certificateEnd } = this.#connection;
    const { clockAheadMs: aheadMs } = this.#presence;
    return {
      mac: this.#mac,
      state: !isConnected ? 'away' : isRefused ? 'refused' : 'connected',
      published_row: published ?? null,
      behind: published === undefined ? 0 : Math.max(0, newest - published),
      clock_ahead_s: aheadMs === undefined ? null : Math.round(aheadMs / 1000),
      certificate_ends: certificateEnd === undefined ? null : isoSecond(certificateEnd),
      problem: this.warning() ?? this.#connection.trouble ?? this.#uplink.trouble ?? null,
    };
  }

  /** Returns a sentence about a problem that the owner has to fix; undefined if there is none. */
  warning(): string | undefined {
    if (!this.#connection.isConnected) return undefined;
    const trouble = this.#membership.trouble ?? this.#uplink.trouble;
    if (trouble !== undefined) return `Events wait to be published to the fleet: ${trouble}.`;
    if (this.#membership.state !== 'refused') return undefined;
    const { holder } = this.#membership;
    const rest = 'so this machine takes no part';
    if (holder === undefined) {
      return `Another Mac is in the fleet as ${this.#mac}, ${rest}. Set fleet.mac to another id on one of the two.`;
    }
    const owner = holder.names === undefined ? 'another machine' : `the machine "${holder.names.holder.name}"`;
    return `In the fleet, ${this.#mac} belongs to ${owner}, which has the same key, ${rest}. If this machine replaces that one, run at the desk: postern fleet adopt ${this.#mac}`;
  }

  /** Publishes the changed health of this Mac. */
  noteHealth(): void {
    void this.#presence.changed();
  }

  async close(): Promise<void> {
    await this.#presence.leave();
    this.#answers.stop();
    await Promise.all([this.#sends.close(), this.#uplink.close()]);
    this.#membership.close();
    await this.#connection.close();
  }

  #follow(): void {
    const { isJoined } = this.#membership;
    for (const part of [this.#answers, this.#sends, this.#presence]) {
      if (isJoined && this.#isStarted) part.start();
      else part.stop();
    }
  }

  async #claim(envelope: Envelope, isAnswered: boolean): Promise<MachineClaim | undefined> {
    const machine = await this.#parts.machine();
    if (machine === undefined) return undefined;
    const [mac, connection] = [this.#mac, this.#connection];
    const { publicKey: key } = connection;
    const nowMs = this.#parts.clock.now();
    const claimant = { mac, key, machine: machineHash(mac, machine.id), name: machine.name, nowMs, isAnswered };
    try {
      return await claimIdentity(connection, envelope, claimant);
    } catch (error) {
      // The broker's users.conf is from an earlier version and forbids claims, so no machine has made a claim.
      if (isForbidden(error)) return undefined;
      throw error;
    }
  }

  #addresses(): readonly string[] {
    try {
      return this.#parts.addresses();
    } catch {
      return []; // chat.db is unavailable, which health reports
    }
  }
}
