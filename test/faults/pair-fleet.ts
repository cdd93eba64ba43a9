import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { type Message, PosternClient } from '../../src/client/postern-client.ts';
import { writePair } from '../../src/features/fleet/protocol/streams.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { waitFor } from '../support/eventually.ts';
import { clientOf } from '../support/fleet-mac.ts';
import { NatsServer } from '../support/nats-server.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { whenFileEnds } from '../support/temporary.ts';
import { DroppingLine } from './dropping-line.ts';
import { Balancer, CLOCK, HubProcess } from './fleet-hubs.ts';
import { wait } from './harness.ts';

const IDS = ['m1', 'm2'] as const;
const PERSON = '+15550100';
const WRITE_EVERY_MS = 50;
const SEND_EVERY_MS = 300;
/** A send waits 90 s for its outcome. */
const SENT_WITHIN_MS = 150_000;

/** One Mac of the pair: its Messages, its service in its own process, and its line to the broker. */
interface PairMac {
  readonly messages: Awaited<ReturnType<typeof simulatedMac>>;
  readonly service: Service;
  readonly line: DroppingLine;
  readonly chats: ChatFixture;
  readonly chat: number;
}

export interface PairFigures {
  readonly events: number;
  /**
   * The first figure is for the client that stays at one hub, the second for the client that the balancer sends to any
   * hub.
   */
  readonly lost: readonly number[];
  readonly repeated: readonly number[];
  readonly outOfOrder: readonly number[];
  /** Number of messages that a hub published twice, over both hubs. */
  readonly publishedTwice: number;
  readonly sends: number;
  readonly sentTwice: number;
  /** Number of sends that were answered as sent, but that Messages never got. */
  readonly neverSent: number;
  readonly unknown: number;
  /** Milliseconds from the fault until the next send was answered as sent, and until the next message was received. */
  readonly sendsAfterMs: number | undefined;
  readonly eventsAfterMs: number | undefined;
}

/** A client that records what it receives. */
class GuidClient {
  readonly guids: string[] = [];
  readonly times: number[] = [];
  failure: unknown;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(port: number) {
    const client = new PosternClient({ url: `http://127.0.0.1:${port}`, key: KEY });
    this.#ended = (async () => {
      try {
        for await (const { data } of client.listen({ after: 0, signal: this.#stop.signal })) {
          this.guids.push((data as Message).guid);
          this.times.push(performance.now());
        }
      } catch (error) {
        this.failure = error;
      }
    })();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

interface SendTry {
  readonly body: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly outcome: 'sent' | 'unknown';
}

/** A pair, two hubs, two clients, messages that reach both Macs, and sends with one key at both hubs at once. */
export class PairFleet {
  readonly macs: readonly PairMac[];
  readonly hubs: readonly HubProcess[];
  readonly #server: NatsServer;
  readonly #balancer: Balancer;
  readonly #clients: readonly GuidClient[];
  readonly #written: string[] = [];
  readonly #writtenMs: number[] = [];
  readonly #sending: Promise<SendTry>[] = [];
  /** Messages that iCloud withholds from the second Mac. */
  readonly #kept: string[] = [];
  isKeeping = false;
  #isWriting = false;
  #running: Promise<unknown> = Promise.resolve();
  #faultMs = 0;

  private constructor(
    macs: readonly PairMac[],
    hubs: readonly HubProcess[],
    { server, balancer }: { readonly server: NatsServer; readonly balancer: Balancer },
  ) {
    this.macs = macs;
    this.hubs = hubs;
    this.#server = server;
    this.#balancer = balancer;
    this.#clients = [hubs[0]?.port ?? 0, balancer.port].map((port) => new GuidClient(port));
  }

  static async start(): Promise<PairFleet> {
    const folder = mkdtempSync(join(tmpdir(), 'postern-pair-'));
    whenFileEnds(() => rmSync(folder, { recursive: true, force: true }));
    const server = await NatsServer.forFleet(IDS);
    const nc = await clientOf(server);
    await writePair(await jetstreamManager(nc), { mac: 'm1', standby: 'm2', sinceMs: Date.now() - 3_600_000 });
    await nc.close();
    const hubs = await Promise.all(
      ['hub-0', 'hub-1'].map((name) => HubProcess.start(join(folder, name), [server.url])),
    );
    const macs = await Promise.all(IDS.map((mac) => startMac(mac, server)));
    const balancer = await Balancer.start(hubs.map(({ port }) => port));
    const fleet = new PairFleet(macs, hubs, { server, balancer });
    whenFileEnds(() => fleet.end());
    for (const hub of hubs) await waitFor(async () => (await presentAt(hub)) === IDS.length);
    return fleet;
  }

  /** Starts messages and sends at a steady rate. */
  begin(): void {
    this.#isWriting = true;
    const every = async (ms: number, run: () => void): Promise<void> => {
      while (this.#isWriting) {
        run();
        await wait(ms);
      }
    };
    this.#running = Promise.all([
      every(WRITE_EVERY_MS, () => this.write(1)),
      every(SEND_EVERY_MS, () => void this.#sending.push(this.#send(`send ${this.#sending.length}`))),
    ]);
  }

  /** Records that the fault begins now. */
  mark(): void {
    this.#faultMs = performance.now();
  }

  /** Writes messages to both Macs, to the second in reverse order. */
  write(count: number): void {
    const guids = Array.from({ length: count }, (_, place) => `G${this.#written.length + place}`);
    this.#written.push(...guids);
    this.#writtenMs.push(...guids.map(() => performance.now()));
    this.#add(0, guids);
    if (this.isKeeping) this.#kept.push(...guids);
    else this.#add(1, guids.toReversed());
  }

  /**
   * Lets iCloud bring the second Mac all withheld messages at once, in another order. By then the clients have them
   * from the first Mac, whose order counts.
   */
  async bringKept(): Promise<void> {
    const count = this.#kept.length;
    const kept = this.#kept.slice(0, count);
    await waitFor(() => this.#clients.every(({ guids: got }) => kept.every((guid) => got.includes(guid))), 60_000);
    this.isKeeping = false;
    const guids = this.#kept.splice(0);
    const [odd, even] = [1, 0].map((rest) => kept.filter((_, place) => place % 2 === rest));
    this.#add(1, [...(odd ?? []), ...(even ?? []), ...guids.slice(count)]);
  }

  /** Waits until everything has arrived and was answered, then counts. */
  async figures(): Promise<PairFigures> {
    this.#isWriting = false;
    await this.#running;
    const tries = await Promise.all(this.#sending);
    const guids = new Set(this.macs.flatMap(({ chats }) => guidsIn(chats)));
    await waitFor(
      () => this.#clients.every(({ guids: got, failure }) => failure !== undefined || new Set(got).size >= guids.size),
      60_000,
    ).catch(() => undefined);
    const logs = await Promise.all(this.hubs.map((hub) => guidsAt(hub)));
    const runs = (body: string): number =>
      this.macs.flatMap(({ messages }) => messages.calls.filter(({ values }) => values.BODY === body)).length;
    const sent = tries.filter(({ outcome }) => outcome === 'sent');
    const after = sent.filter(({ startedMs }) => startedMs >= this.#faultMs).map(({ endedMs }) => endedMs);
    const [first] = this.#clients;
    const next = this.#written[this.#writtenMs.findIndex((ms) => ms >= this.#faultMs)] ?? '';
    const nextMs = first?.times[first.guids.indexOf(next)];
    return {
      events: guids.size,
      lost: this.#clients.map(({ guids: got }) => [...guids].filter((guid) => !got.includes(guid)).length),
      repeated: this.#clients.map(({ guids: got }) => got.length - new Set(got).size),
      outOfOrder: this.#clients.map(({ guids: got }) => this.#outOfOrder(got)),
      publishedTwice: logs.reduce((sum, log) => sum + log.length - new Set(log).size, 0),
      sends: tries.length,
      sentTwice: tries.filter(({ body }) => runs(body) > 1).length,
      neverSent: sent.filter(({ body }) => runs(body) === 0).length,
      unknown: tries.length - sent.length,
      sendsAfterMs: after.length === 0 ? undefined : Math.round(Math.min(...after) - this.#faultMs),
      eventsAfterMs: nextMs === undefined ? undefined : Math.round(nextMs - this.#faultMs),
    };
  }

  async end(): Promise<void> {
    this.#isWriting = false;
    await this.#running;
    for (const client of this.#clients) await client.close();
    await this.#balancer.close();
    for (const hub of this.hubs) await hub.stop();
    for (const { service, line, chats, messages } of this.macs) {
      await service.stop('SIGKILL');
      await line.close();
      chats.close();
      await messages.dispose();
    }
    await this.#server.dispose();
  }

  #add(place: number, guids: readonly string[]): void {
    const mac = this.macs[place];
    mac?.chats.transaction(() => {
      for (const guid of guids) {
        const date = appleDate(Date.now() - (this.isKeeping ? 3_600_000 : 0));
        mac.chats.message({ chat: mac.chat, guid, text: `text of ${guid}`, date, handle_id: mac.chats.handle(PERSON) });
      }
    });
  }

  /** Counts messages that came before an earlier one. Messages of the same moment have no order. */
  #outOfOrder(got: readonly string[]): number {
    const seen = new Set<string>();
    let newestMs = 0;
    let count = 0;
    for (const guid of got) {
      const ms = this.#writtenMs[this.#written.indexOf(guid)];
      if (ms === undefined || seen.has(guid)) continue;
      seen.add(guid);
      if (ms < newestMs) count += 1;
      newestMs = Math.max(newestMs, ms);
    }
    return count;
  }

  /** Sends with the same key at both hubs at once, until one of them reports the outcome. */
  async #send(body: string): Promise<SendTry> {
    const startedMs = performance.now();
    const at = async ({ port }: HubProcess): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/messages`, {
        method: 'POST',
        headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json', 'Idempotency-Key': body },
        body: JSON.stringify({ recipient: '+15550144', from: 'm1', body }),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    while (performance.now() - startedMs < SENT_WITHIN_MS) {
      const statuses = await Promise.all(this.hubs.map((hub) => at(hub).catch(() => 0)));
      const endedMs = performance.now();
      if (statuses.some((status) => status === 201 || status === 202)) {
        return { body, startedMs, endedMs, outcome: 'sent' };
      }
      if (statuses.includes(504)) return { body, startedMs, endedMs, outcome: 'unknown' };
      await wait(200);
    }
    return { body, startedMs, endedMs: performance.now(), outcome: 'unknown' };
  }
}

async function startMac(mac: string, server: NatsServer): Promise<PairMac> {
  const messages = await simulatedMac();
  const line = await DroppingLine.start(server.port);
  const chats = new ChatFixture(messages.chatDbPath, 'macos-26', { isThere: true });
  const chat = chats.chat(`any;-;${PERSON}`, [PERSON]);
  const service = await Service.start({
    chatDbPath: messages.chatDbPath,
    osascriptPath: messages.osascriptPath,
    settings: { fleet: { servers: [line.url], mac } },
    env: { NODE_OPTIONS: `--require ${CLOCK}` },
  });
  return { messages, line, chats, chat, service };
}

async function presentAt({ port }: HubProcess): Promise<number> {
  const { macs = [] } = await new PosternClient({ url: `http://127.0.0.1:${port}`, key: KEY }).status();
  return macs.filter(({ state }) => state === 'present').length;
}

/** Returns everything in the log of a hub. */
async function guidsAt({ port }: HubProcess): Promise<readonly string[]> {
  const guids: string[] = [];
  for (let after = '0'; ; ) {
    const url = `http://127.0.0.1:${port}/api/v1/events?limit=1000&after=${after}`;
    const page = (await (await fetch(url, { headers: { 'X-API-Key': KEY } })).json()) as {
      readonly data: { readonly guid: string };
      readonly offset: string;
    }[];
    guids.push(...page.map(({ data }) => data.guid));
    const last = page.at(-1);
    if (last === undefined) return guids;
    after = last.offset;
  }
}

/** Returns the guids of the messages that hubs must show. */
function guidsIn(chats: ChatFixture): readonly string[] {
  return chats.sqlite
    .prepare('SELECT guid FROM message m WHERE EXISTS (SELECT 1 FROM chat_message_join j WHERE j.message_id = m.ROWID)')
    .all()
    .map(([guid]) => String(guid));
}
