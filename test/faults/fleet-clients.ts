import { PosternClient } from '../../src/client/postern-client.ts';
import { splitId } from '../../src/core/model/fleet.ts';
import { nextOf } from '../support/next-page.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';
import type { HubProcess } from './fleet-hubs.ts';
import { wait } from './harness.ts';

const POLL_MS = 50;
/** A hub that does not answer for this long is passed over, as a balancer does. */
const ANSWER_MS = 2000;

/** Row ids of each Mac, in order of arrival. */
class Arrivals {
  readonly rows = new Map<string, number[]>();

  /** Records an arrival. `qualified` is an id as hubs show it. */
  add(qualified: string): void {
    const { mac, id } = splitId(qualified) ?? { mac: '', id: '' };
    const known = this.rows.get(mac) ?? [];
    known.push(Number(id));
    this.rows.set(mac, known);
  }

  /** Returns the newest row of a Mac; 0 before the first. */
  newest(mac: string): number {
    return this.rows.get(mac)?.at(-1) ?? 0;
  }
}

/** A client that receives every event of every Mac. */
export interface FleetClient {
  readonly arrivals: Arrivals;
  /** The error that stopped the client. */
  readonly failure: unknown;
  close(): Promise<void>;
}

/** The receiver of a fleet's webhook. */
export class WebhookReceiver {
  readonly arrivals = new Arrivals();
  readonly #receiver: Receiver;

  private constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  static async start(hub: HubProcess): Promise<WebhookReceiver> {
    const receiver: Receiver = await Receiver.start((response, { event }) => {
      started.arrivals.add(event.data.id);
      response.writeHead(204).end();
    });
    const started = new WebhookReceiver(receiver);
    await hub.addWebhook(receiver.url);
    return started;
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }
}

/** A client on a WebSocket that resumes where it stopped, whatever happens to the line or the hub. */
export class ListeningClient implements FleetClient {
  readonly arrivals = new Arrivals();
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  failure: unknown;

  constructor(port: number) {
    const client = new PosternClient({ url: `http://127.0.0.1:${port}`, key: KEY });
    this.#ended = (async () => {
      try {
        for await (const { data } of client.listen({ after: 0, signal: this.#stop.signal })) {
          this.arrivals.add(data.id);
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

/** A client that asks the hubs for events in turn and follows `Link`, whichever hub wrote it. */
export class PollingClient implements FleetClient {
  readonly arrivals = new Arrivals();
  readonly #ended: Promise<void>;
  readonly #passedOver: readonly number[];
  #isOn = true;
  #next = '/api/v1/events?after=0&limit=1000';
  failure: unknown;

  /** `passedOver` are the statuses below 500 after which the client asks the next hub. */
  constructor(ports: readonly number[], passedOver: readonly number[] = []) {
    this.#passedOver = passedOver;
    this.#ended = (async () => {
      for (let turn = 0; this.#isOn && this.failure === undefined; turn += 1) {
        await this.#ask(ports[turn % ports.length] ?? 0).catch(() => undefined);
        await wait(POLL_MS);
      }
    })();
  }

  async close(): Promise<void> {
    this.#isOn = false;
    await this.#ended;
  }

  async #ask(port: number): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${port}${this.#next}`, {
      headers: { 'x-api-key': KEY },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const page: unknown = await answer.json();
    if (answer.status === 200) {
      for (const { data } of page as readonly { readonly data: { readonly id: string } }[]) this.arrivals.add(data.id);
      const next = nextOf(answer);
      if (next === undefined) this.failure = 'no Link';
      else this.#next = `/api/v1${next}`;
    } else if (answer.status < 500 && !this.#passedOver.includes(answer.status)) this.failure = page;
  }
}
