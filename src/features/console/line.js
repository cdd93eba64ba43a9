import { API, call, currentKey, statusOf } from './api.js';
import { isHub } from './service.js';

const RECONNECT_MS = [1000, 2000, 5000, 15_000];
/** WebSocket close code: the service no longer has the events after the requested offset. */
const EXPIRED = 4410;

/**
 * The WebSocket connection. Reconnects whenever it breaks, and resumes after the last event taken. Calls `notify` with
 * `open`; with `closed` and the seconds until the next attempt; with `expired` if the service cannot resume after that
 * event; and with `refused` if the key is no longer valid.
 */
export class Line {
  /** @type {WebSocket | undefined} */
  #socket;
  #attempts = 0;
  #isWanted = false;
  /** Position of the last event taken: its offset, or its row id if the service has changes switched off. */
  #after;
  #hasChanges;
  #take;
  #notify;

  /**
   * @param {{ readonly after: string | number, readonly hasChanges: boolean }} position
   * @param {(event: any) => void} take
   * @param {(state: 'open' | 'closed' | 'expired' | 'refused', waitS?: number) => void} notify
   */
  constructor({ after, hasChanges }, take, notify) {
    this.#after = after;
    this.#hasChanges = hasChanges;
    this.#take = take;
    this.#notify = notify;
  }

  open() {
    this.#isWanted = true;
    this.#connect();
  }

  close() {
    this.#isWanted = false;
    this.#socket?.close();
  }

  #connect() {
    const url = new URL('ws', API);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.searchParams.set('api_key', currentKey());
    if (!isHub()) url.searchParams.set('include', 'details,contacts');
    for (const [name, value] of this.#position()) url.searchParams.set(name, value);
    const socket = new WebSocket(url);
    this.#socket = socket;
    let hasOpened = false;
    socket.addEventListener('open', () => {
      hasOpened = true;
      this.#attempts = 0;
      this.#notify('open');
    });
    socket.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data);
      this.#after = event.offset ?? event.data.id;
      this.#take(event);
    });
    socket.addEventListener('close', ({ code }) => {
      if (!this.#isWanted || socket !== this.#socket) return;
      if (code === EXPIRED) {
        this.#expire();
        return;
      }
      const waitMs = RECONNECT_MS[Math.min(this.#attempts, RECONNECT_MS.length - 1)] ?? 1000;
      this.#attempts += 1;
      this.#notify('closed', waitMs / 1000);
      setTimeout(() => void this.#reconnect(socket, hasOpened), waitMs);
    });
  }

  /** Returns the query parameters that make the service send the events after the last one taken. */
  #position() {
    return new URLSearchParams({ after: String(this.#after), ...(this.#hasChanges && { changes: 'true' }) });
  }

  /**
   * Connects again. If the broken connection never opened, first asks the API why, because browsers hide why a
   * handshake failed. Reports `refused` if the key is no longer valid, or `expired` if the offset is too old.
   * @param {WebSocket} broken
   * @param {boolean} hadOpened
   */
  async #reconnect(broken, hadOpened) {
    const isStale = () => !this.#isWanted || broken !== this.#socket;
    if (isStale()) return;
    try {
      if (!hadOpened) await call(`events?limit=1&${this.#position()}`);
    } catch (error) {
      if (statusOf(error) === 401) {
        this.#isWanted = false;
        this.#notify('refused');
        return;
      }
      if ([404, 410].includes(statusOf(error) ?? 0)) {
        this.#expire();
        return;
      }
    }
    if (!isStale()) this.#connect();
  }

  #expire() {
    this.#isWanted = false;
    this.#notify('expired');
  }
}
