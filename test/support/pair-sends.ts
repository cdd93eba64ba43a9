import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { isAppError } from '../../src/core/model/errors.ts';
import { problem } from '../../src/core/model/problems.ts';
import { HubSender, type HubSenderParts } from '../../src/features/fleet/hub/hub-sender.ts';
import { SendLeases } from '../../src/features/fleet/hub/send-leases.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import type { SendOrder } from '../../src/features/fleet/protocol/fleet-records-schema.ts';
import { BUCKETS, outcomeKey, outcomeSubject } from '../../src/features/fleet/protocol/layout.ts';
import { decodeOrder, hashOfRequest, keyHash, packOutcome } from '../../src/features/fleet/protocol/sends.ts';
import type { Chance } from '../../src/features/simulator/chatter.ts';
import { FakeClock } from './fake-clock.ts';
import { collectingLog } from './log.ts';

/** What can happen to the sends of a pair. Most steps let one request to the broker or to a Mac through. */
const STEPS = [
  ...[
    'send',
    'send',
    'go',
    'go',
    'go',
    'go',
    'go',
    'go',
    'go',
    'go',
    'late',
    'take',
    'take',
    'run',
    'run',
    'tell',
    'tell',
  ],
  ...['die', 'start', 'hang', 'wake', 'notice', 'pass'],
] as const;
export type SendStepName = (typeof STEPS)[number];

export interface SendStep {
  readonly do: SendStepName;
  readonly which: number;
}

const MACS = ['m1', 'm2'] as const;
const HUBS = 2;
const KEYS = 3;
const plain = new Envelope();

export function drawSendSchedule(chance: Chance): readonly SendStep[] {
  return Array.from({ length: 20 + chance.below(80) }, () => ({
    do: STEPS[chance.below(STEPS.length)] ?? 'go',
    which: chance.below(1000),
  }));
}

export const describedSends = (steps: readonly SendStep[]): string =>
  steps.map((step) => `${step.do} ${step.which}`).join(', ');

/** A request that waits until the schedule lets it through. */
interface Pending {
  readonly run: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Entry {
  readonly operation: 'PUT';
  readonly value: Uint8Array;
  readonly revision: number;
}

interface Callback {
  readonly callback: (error: null, message: { readonly data: Uint8Array }) => void;
}

/** An in-memory broker: buckets, queues and subjects. */
class ModelBroker {
  readonly pending: Pending[] = [];
  readonly queues: Readonly<Record<string, SendOrder[]>> = { m1: [], m2: [] };
  readonly #buckets = new Map<string, Map<string, Entry>>();
  readonly #subscribers = new Map<string, Set<Callback>>();
  readonly #attempts = new Set<string>();
  #revision = 0;

  request<Value>(run: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => void this.pending.push({ run, resolve, reject }));
  }

  /** Lets one request through. With `isAnswerLost` it takes effect, but its sender sees a timeout. */
  go(which: number, isAnswerLost: boolean): void {
    const [one] = this.pending.splice(which % Math.max(1, this.pending.length), 1);
    if (one === undefined) return;
    try {
      const value = one.run();
      if (isAnswerLost) one.reject(new Error('timeout'));
      else one.resolve(value as never);
    } catch (error) {
      one.reject(error);
    }
  }

  put(bucket: string, key: string, value: Uint8Array, previous?: number): number {
    const entries = this.#buckets.get(bucket) ?? new Map<string, Entry>();
    this.#buckets.set(bucket, entries);
    if (previous !== undefined && (entries.get(key)?.revision ?? 0) !== previous) throw conflict();
    this.#revision += 1;
    entries.set(key, { operation: 'PUT', value, revision: this.#revision });
    return this.#revision;
  }

  say(subject: string, data: Uint8Array): void {
    for (const { callback } of this.#subscribers.get(subject) ?? []) callback(null, { data });
  }

  /** Returns the connection of a hub. */
  connection(): HubSenderParts['connection'] {
    const bucket = (name: string) => ({
      get: (key: string) => this.request(() => this.#buckets.get(name)?.get(key) ?? null),
      put: (key: string, value: Uint8Array, { previousSeq }: { readonly previousSeq?: number }) =>
        this.request(() => this.put(name, key, value, previousSeq)),
      create: (key: string, value: Uint8Array) => this.request(() => this.put(name, key, value, 0)),
    });
    return {
      isConnected: true,
      kv: async (name: string) => bucket(name),
      js: {
        publish: (subject: string, body: Uint8Array, { msgID, headers }: { msgID: string; headers: never }) =>
          this.request(() => {
            // The broker stores an order once, however often it is published.
            if (this.#attempts.has(msgID)) return;
            this.#attempts.add(msgID);
            const mac = subject.slice(subject.indexOf('.') + 1);
            this.queues[mac]?.push(decodeOrder(mac, headers, body, plain));
          }),
      },
      nc: {
        subscribe: (subject: string, options: Callback) => {
          const all = this.#subscribers.get(subject) ?? new Set();
          this.#subscribers.set(subject, all.add(options));
          return { unsubscribe: () => void all.delete(options) };
        },
      },
    } as unknown as HubSenderParts['connection'];
  }
}

function conflict(): JetStreamApiError {
  const error = { code: 400, err_code: JetStreamApiCodes.StreamWrongLastSequence, description: 'wrong last sequence' };
  return new JetStreamApiError(error);
}

/** A Mac that takes sends as an agent does: it stores the claim of a key before it gives Messages the text. */
class ModelMac {
  readonly id: string;
  /** Claimed keys; undefined until the outcome is stored. */
  readonly claimed = new Map<string, boolean>();
  /** Keys in the order in which Messages received their texts. */
  readonly sent: string[] = [];
  state: 'up' | 'hung' | 'dead' = 'up';
  #order: { readonly order: SendOrder; isSent: boolean } | undefined;
  readonly #broker: ModelBroker;
  readonly #clock: FakeClock;

  constructor(id: string, broker: ModelBroker, clock: FakeClock) {
    this.id = id;
    this.#broker = broker;
    this.#clock = clock;
  }

  take(): void {
    const order = this.#broker.queues[this.id]?.[0];
    if (this.state !== 'up' || this.#order !== undefined || order === undefined) return;
    const { key, deadlineMs } = order;
    const outcome = this.claimed.get(key);
    if (outcome !== undefined) this.#answer(order, outcome);
    else if (this.#clock.now() > deadlineMs) this.#answer(order, 'expired');
    else {
      this.claimed.set(key, false);
      this.#order = { order, isSent: false };
    }
  }

  run(): void {
    if (this.state !== 'up' || this.#order === undefined || this.#order.isSent) return;
    this.sent.push(this.#order.order.key);
    this.#order.isSent = true;
  }

  tell(): void {
    const { order, isSent = false } = this.#order ?? {};
    if (this.state !== 'up' || order === undefined || !isSent) return;
    this.claimed.set(order.key, true);
    this.#order = undefined;
    this.#answer(order, true);
  }

  /** Loses the outcome of the running send, whose order the queue delivers again. */
  die(): void {
    this.state = 'dead';
    this.#order = undefined;
  }

  #answer(order: SendOrder, outcome: boolean | 'expired'): void {
    this.#broker.queues[this.id]?.shift();
    const { key, request } = order;
    const unknown = problem(outcome === 'expired' ? 'send_expired' : 'send_outcome_unknown');
    const { status, code, message: detail } = unknown;
    const reply =
      outcome === true
        ? { result: resultOf(key) }
        : { problem: { status, code, detail, type: 'about:blank', title: code } };
    const packed = packOutcome(plain, this.id, key, { requestHash: hashOfRequest(request), reply });
    const hash = keyHash(key);
    if (outcome !== 'expired') this.#broker.put(BUCKETS.outcomes, outcomeKey(this.id, hash), packed);
    this.#broker.say(outcomeSubject(this.id, hash), packed);
  }
}

function resultOf(key: string) {
  const message = {
    ...{ id: '1', guid: `G-${key}`, conversation_id: 'any;-;+15550144', sender: 'me', body: key, attachments: [] },
    ...{ timestamp: '2026-01-02T00:00:00Z', is_from_me: true, status: 'sent' },
  };
  return { confirmed: true, message, replayed: false };
}

/** One run of a schedule, with the real sender, claims and leases of two hubs. */
class SendSimulation {
  readonly #clock = new FakeClock();
  readonly #broker = new ModelBroker();
  readonly #macs = MACS.map((id) => new ModelMac(id, this.#broker, this.#clock));
  readonly #away = new Set<string>();
  readonly #hubs: readonly HubSender[];
  readonly #answers: { readonly key: string; readonly answer: string; readonly wasSent: boolean }[] = [];
  readonly #running = new Set<Promise<void>>();

  constructor() {
    const [clock, log] = [this.#clock, collectingLog()];
    this.#hubs = Array.from({ length: HUBS }, () => {
      const connection = this.#broker.connection();
      const macs = this.#macsOfHub();
      const reads = this.#readsOfHub();
      const hub = {
        connection,
        envelope: plain,
        macs,
        reads,
        brokerClock: clock,
        clock,
        log,
      } as unknown as HubSenderParts;
      return new HubSender({ ...hub, leases: new SendLeases(hub) });
    });
  }

  async run(steps: readonly SendStep[]): Promise<string | undefined> {
    for (const step of steps) {
      this.#step(step);
      await settled();
      const failure = this.#failure();
      if (failure !== undefined) return failure;
    }
    for (const mac of this.#macs) mac.state = 'up';
    this.#away.clear();
    for (let turn = 0; this.#running.size > 0 && turn < 400; turn += 1) {
      this.#broker.go(0, false);
      for (const mac of this.#macs) for (const name of ['take', 'run', 'tell'] as const) mac[name]();
      await settled();
      if (this.#broker.pending.length === 0) await this.#clock.advance(1000);
    }
    if (this.#running.size > 0) return `${this.#running.size} sends were never answered`;
    return this.#failure();
  }

  #step({ do: name, which }: SendStep): void {
    const mac = this.#macs[which % MACS.length] as ModelMac;
    if (name === 'send') this.#send(`k${which % KEYS}`, this.#hubs[Math.floor(which / KEYS) % HUBS] as HubSender);
    else if (name === 'go') this.#broker.go(which, false);
    else if (name === 'late') this.#broker.go(which, true);
    else if (name === 'start' || name === 'wake') {
      if (mac.state === (name === 'start' ? 'dead' : 'hung')) mac.state = 'up';
      this.#away.delete(mac.id);
    } else if (name === 'hang') mac.state = mac.state === 'up' ? 'hung' : mac.state;
    else if (name === 'notice') {
      if (mac.state !== 'up') this.#away.add(mac.id);
    } else if (name === 'pass') void this.#clock.advance(1000 * (1 + (which % 30)));
    else mac[name]();
  }

  #send(key: string, hub: HubSender): void {
    const request = { recipient: '+15550144', from: 'm1', body: key, attachments: [] };
    const running: Promise<void> = hub
      .send({ ...request, idempotencyKey: { kind: 'client', key } })
      .then(
        () => 'sent',
        (error: unknown) => (isAppError(error) ? error.code : String(error)),
      )
      .then((answer) => {
        this.#answers.push({ key, answer, wasSent: this.#macs.some(({ sent }) => sent.includes(key)) });
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  #failure(): string | undefined {
    for (let number = 0; number < KEYS; number += 1) {
      const key = `k${number}`;
      const runs = this.#macs.flatMap(({ id, sent }) => sent.filter((one) => one === key).map(() => id));
      if (runs.length > 1) return `${key} was sent ${runs.length} times, by ${runs.join(' and ')}`;
      if (this.#macs.every(({ claimed }) => claimed.has(key))) return `${key} was tried at both Macs`;
      const isSaid = this.#answers.some((one) => one.key === key && one.answer === 'sent');
      if (isSaid && runs.length === 0) return `${key} was answered as sent, and was not`;
      // A client that trusts this answer sends the message another way, so the person gets it twice.
      const isMisled = this.#answers.some((one) => one.key === key && one.answer === 'mac_away' && one.wasSent);
      if (isMisled) return `${key} was answered as not sent, and was`;
    }
    return undefined;
  }

  #macsOfHub() {
    const known = (mac: string) => ({ mac, presence: { health: { connected: true }, addresses: [] }, seenAtMs: 0 });
    const isAway = ({ mac }: { readonly mac: string }): boolean => this.#away.has(mac);
    return {
      isAway,
      get: known,
      nameOf: (mac: string) => ({ mac, member: 'm1', isPair: true }),
      macsOf: () => MACS.map(known),
      members: () => [{ id: 'm1', macs: MACS.map(known) }],
    };
  }

  /** A Mac that hangs or is dead does not answer, which a hub notices by a timeout. */
  #readsOfHub() {
    const asked = (id: string): ModelMac => {
      const mac = this.#macs.find((one) => one.id === id);
      if (mac?.state !== 'up') throw problem('mac_away', { mac: id });
      return mac;
    };
    return {
      isKnown: () => false,
      ask: (id: string, operation: 'knowsKey' | 'attachmentMistakes', { key = '' }: { readonly key?: string }) =>
        this.#broker.request(() => {
          const { claimed } = asked(id);
          return operation === 'knowsKey' ? claimed.has(key) : [];
        }),
    };
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Returns what went wrong in a schedule; undefined if nothing did. */
export function sendFailureOf(steps: readonly SendStep[]): Promise<string | undefined> {
  return new SendSimulation().run(steps);
}
