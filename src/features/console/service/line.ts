import { API, call, currentKey, statusOf } from './api.ts';
import type { LiveEvent } from './live.ts';
import { partsOfEvents } from './service.ts';

const RECONNECT_MS = [1000, 2000, 5000, 15_000];
/** WebSocket close code: the service no longer has the events after the requested offset. */
const EXPIRED = 4410;

/** The place in the events to begin at: an offset, or a row id if the service has changes switched off. */
export interface Position {
  readonly after: string | number;
  readonly hasChanges: boolean;
}

/** A change of the connection. */
export type LineChange = 'open' | 'closed' | 'expired' | 'refused';

export interface LineParts {
  readonly position: Position;
  readonly take: (event: LiveEvent) => void;
  readonly notify: (change: LineChange) => void;
}

/**
 * The WebSocket connection. Reconnects whenever it breaks, and resumes after the last event taken. Calls `notify` with
 * `open`; with `closed` when it breaks; with `expired` if the service cannot resume after that event; and with
 * `refused` if the key is no longer valid.
 */
export class Line {
  #socket: WebSocket | undefined;
  #attempts = 0;
  #isWanted = false;
  /** Position of the last event taken: its offset, or its row id if the service has changes switched off. */
  #after: string | number;
  readonly #parts: LineParts;

  constructor(parts: LineParts) {
    this.#parts = parts;
    this.#after = parts.position.after;
  }

  open(): void {
    this.#isWanted = true;
    this.#connect();
  }

  close(): void {
    this.#isWanted = false;
    this.#socket?.close();
  }

  #connect(): void {
    const url = new URL('ws', API);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.searchParams.set('api_key', currentKey());
    if (partsOfEvents() !== '') url.searchParams.set('include', partsOfEvents());
    for (const [name, value] of this.#position()) url.searchParams.set(name, value);
    const socket = new WebSocket(url);
    this.#socket = socket;
    let hasOpened = false;
    socket.addEventListener('open', () => {
      hasOpened = true;
      this.#attempts = 0;
      this.#parts.notify('open');
    });
    socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as LiveEvent;
      this.#after = event.offset ?? ('id' in event.data ? event.data.id : this.#after);
      this.#parts.take(event);
    });
    socket.addEventListener('close', ({ code }) => {
      if (!this.#isWanted || socket !== this.#socket) return;
      if (code === EXPIRED) {
        this.#expire();
        return;
      }
      const waitMs = RECONNECT_MS[Math.min(this.#attempts, RECONNECT_MS.length - 1)] ?? 1000;
      this.#attempts += 1;
      this.#parts.notify('closed');
      setTimeout(() => void this.#reconnect(socket, hasOpened), waitMs);
    });
  }

  /** Returns the query parameters that make the service send the events after the last one taken. */
  #position(): URLSearchParams {
    return new URLSearchParams({
      after: String(this.#after),
      ...(this.#parts.position.hasChanges && { changes: 'true' }),
    });
  }

  /**
   * Connects again. If the broken connection never opened, first asks the API why, because browsers hide why a
   * handshake failed. Reports `refused` if the key is no longer valid, or `expired` if the offset is too old.
   */
  async #reconnect(broken: WebSocket, hadOpened: boolean): Promise<void> {
    const isStale = (): boolean => !this.#isWanted || broken !== this.#socket;
    if (isStale()) return;
    try {
      if (!hadOpened) await call(`events?limit=1&${this.#position()}`);
    } catch (error) {
      if (statusOf(error) === 401) {
        this.#isWanted = false;
        this.#parts.notify('refused');
        return;
      }
      if ([404, 410].includes(statusOf(error) ?? 0)) {
        this.#expire();
        return;
      }
    }
    if (!isStale()) this.#connect();
  }

  #expire(): void {
    this.#isWanted = false;
    this.#parts.notify('expired');
  }
}
