import { randomUUID } from 'node:crypto';
import type { LogEntry } from '../../domain/event.ts';
import type { FleetSettings } from '../../domain/fleet.ts';
import type { EventFeed, MessageLog } from '../../domain/ports/feed.ts';
import type { FleetReport, FleetStore } from '../../domain/ports/fleet.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import type { AttachmentReader, BackendHealth, MessageReader } from '../../domain/ports/reading.ts';
import type { CallerSender } from '../../domain/ports/sending.ts';
import type { StatusReport } from '../../domain/status.ts';
import { FleetConnection, readFleetFile } from '../protocol/connection.ts';
import { agentKeys, Envelope } from '../protocol/envelope.ts';
import { Answers } from './answers.ts';
import { Membership } from './membership.ts';
import { PresenceBeat } from './presence-beat.ts';
import { type CheckedSend, SendQueue } from './send-queue.ts';
import { Uplink } from './uplink.ts';

export interface AgentParts {
  readonly settings: FleetSettings;
  readonly version: string;
  readonly store: FleetStore;
  readonly feed: EventFeed;
  readonly messages: MessageLog;
  /** The owner's ports: a hub asks and sends in the owner's name. */
  readonly reader: MessageReader;
  readonly attachments: AttachmentReader;
  readonly sender: CallerSender;
  readonly json: (entry: LogEntry) => string;
  readonly checkSend: (request: unknown) => CheckedSend;
  readonly isKept: (key: string) => boolean;
  readonly status: () => StatusReport | Promise<StatusReport>;
  readonly health: () => BackendHealth;
  /** Numbers and addresses of the person; throws while chat.db is away. */
  readonly addresses: () => readonly string[];
  readonly rowOfGuid: (guid: string) => number | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Connects this Mac with a fleet. The local service does not notice whether the broker is there. */
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

  /** Throws AppError when the content keys cannot be used. */
  constructor(parts: AgentParts) {
    const { settings, store, clock } = parts;
    const mac = settings.mac === '' ? store.ownMac() : settings.mac;
    const log = parts.log.child({ mac });
    const instance = randomUUID();
    const { content, contentKeyFile, backfillHours } = settings;
    const hasKeys = content !== 'plain' && contentKeyFile !== '';
    const envelope = new Envelope(
      hasKeys ? agentKeys(readFleetFile(contentKeyFile, 'fleet.content_key_file')) : undefined,
    );
    this.#parts = parts;
    this.#mac = mac;
    const connection = new FleetConnection(settings, { clock, log, name: mac });
    this.#connection = connection;
    const membership = new Membership({ connection, mac, instance, clock, log });
    this.#membership = membership;
    const shared = { ...parts, connection, membership, envelope, mac, instance, log };
    this.#uplink = new Uplink({ ...shared, content, backfillHours });
    this.#sends = new SendQueue(shared);
    this.#answers = new Answers({ ...shared, content });
    this.#presence = new PresenceBeat({
      ...shared,
      presence: () => ({
        version: parts.version,
        instance,
        epoch: store.epoch(),
        newestRow: parts.feed.lastPublished().rowId,
        publishedRow: this.#uplink.position?.rowId ?? 0,
        last: this.#uplink.last,
        addresses: this.#addresses(),
        health: parts.health(),
      }),
    });
    membership.onChange(() => this.#follow());
  }

  /** Until then it is connected and does nothing. */
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
    const isAway = !this.#connection.isConnected;
    return {
      mac: this.#mac,
      state: isAway ? 'away' : isRefused ? 'refused' : 'connected',
      published_row: published ?? null,
      behind: published === undefined ? 0 : Math.max(0, newest - published),
      problem: this.warning() ?? this.#connection.trouble ?? this.#uplink.trouble ?? null,
    };
  }

  /** What a person has to put right; undefined when there is nothing. */
  warning(): string | undefined {
    if (!this.#connection.isConnected) return undefined;
    const { trouble } = this.#uplink;
    if (trouble !== undefined) return `Events wait to be published to the fleet: ${trouble}.`;
    if (this.#membership.state !== 'refused') return undefined;
    return `Another Mac is in the fleet as ${this.#mac}, so this one takes no part in it: give it another fleet.mac.`;
  }

  /** The health of this Mac has changed. */
  noteHealth(): void {
    this.#presence.changed();
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

  #addresses(): readonly string[] {
    try {
      return this.#parts.addresses();
    } catch {
      return []; // health says why
    }
  }
}
