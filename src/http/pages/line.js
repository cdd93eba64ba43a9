import { API, call, currentKey } from './api.js';

const RECONNECT_MS = [1000, 2000, 5000, 15_000];

/**
 * The WebSocket. It reconnects whenever it breaks, and resumes after the last event taken.
 * `tell` hears `open`, `closed` with the wait in seconds, and `refused` when the key is not the key any more.
 */
export class Line {
  #socket;
  #attempts = 0;
  #isWanted = false;
  #lastRowId;
  #take;
  #tell;

  constructor(lastRowId, take, tell) {
    this.#lastRowId = lastRowId;
    this.#take = take;
    this.#tell = tell;
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
    url.searchParams.set('include', 'contacts');
    url.searchParams.set('after', String(this.#lastRowId)); // nothing is missed over a pause or a broken line
    const socket = new WebSocket(url);
    this.#socket = socket;
    let hasOpened = false;
    socket.addEventListener('open', () => {
      hasOpened = true;
      this.#attempts = 0;
      this.#tell('open');
    });
    socket.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data);
      this.#lastRowId = Math.max(this.#lastRowId, Number(event.data.id));
      this.#take(event);
    });
    socket.addEventListener('close', () => {
      if (!this.#isWanted || socket !== this.#socket) return;
      const waitMs = RECONNECT_MS[Math.min(this.#attempts, RECONNECT_MS.length - 1)];
      this.#attempts += 1;
      this.#tell('closed', waitMs / 1000);
      setTimeout(() => void this.#reconnect(socket, hasOpened), waitMs);
    });
  }

  /** A browser does not say why a handshake failed: the key may have changed, or the database been replaced. */
  async #reconnect(broken, hadOpened) {
    const isStale = () => !this.#isWanted || broken !== this.#socket;
    if (isStale()) return;
    try {
      const status = hadOpened ? undefined : await call('status');
      if (status !== undefined) this.#lastRowId = Math.min(this.#lastRowId, status.newest_event.row_id);
    } catch (error) {
      if (error.status === 401) {
        this.#isWanted = false;
        this.#tell('refused');
        return;
      }
    }
    if (!isStale()) this.#connect();
  }
}
