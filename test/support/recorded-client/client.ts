import { request } from 'node:http';
import { join } from 'node:path';
import { ChatDatabase, OWN_ADDRESS } from '../../../src/features/simulator/chat-database.ts';
import type { Command } from '../../../src/features/simulator/commands.ts';
import { MARKED } from '../../../src/features/simulator/own-messages.ts';
import { waitFor } from '../eventually.ts';
import { Receiver } from '../receiver.ts';
import { type Answer, KEY, type Listener, Service } from '../service.ts';
import { simulatedMac } from '../simulated-mac.ts';
import { ANA, BEN, FILES, GROUP, writeHistory } from './chat.ts';

/** The answer to each step of the script, by the step's name. */
export type Answers = Readonly<Record<string, unknown>>;

export interface ClientOptions {
  /** The program whose answers are recorded; the current one by default. */
  readonly program?: string | undefined;
  /**
   * How long a half-written row stays incomplete. While answers are recorded: long enough for it to be published
   * incomplete.
   */
  readonly halfWrittenMs: number;
}

const TYPES = ['message.received', 'message.sent', 'reaction.added', 'reaction.removed'];
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Runs the requests of a client of 0.1 against a service on a chat.db with a row of every kind. */
export async function answersOf(options: ClientOptions): Promise<Answers> {
  const startMs = Math.floor(Date.now() / 1000) * 1000;
  const mac = await simulatedMac();
  const database = ChatDatabase.open(mac.chatDbPath, '26');
  writeHistory(database, join(mac.homeFolder, FILES));
  const { chatDbPath, osascriptPath } = mac;
  const settings = { send: { confirm_ms: 3000 }, mcp: { allow_owner_key: true } };
  const service = await Service.start({ chatDbPath, osascriptPath, settings, program: options.program });
  const receiver = await Receiver.start();
  const answers: Record<string, unknown> = {};
  const script = new Script({ service, database, receiver, answers, halfWrittenMs: options.halfWrittenMs });
  try {
    await script.reads();
    await script.mistakes();
    await script.webhooks();
    await script.arrivals((command) => mac.command(command));
    await script.sends((command) => mac.command(command));
    await script.events();
    return plain(answers, { startMs, database, folders: [mac.homeFolder, service.folder], url: receiver.url });
  } finally {
    await receiver.close();
    await service.dispose();
    database.close();
    await mac.dispose();
  }
}

interface ScriptParts {
  readonly service: Service;
  readonly database: ChatDatabase;
  readonly receiver: Receiver;
  readonly answers: Record<string, unknown>;
  readonly halfWrittenMs: number;
}

type Ask = (command: Command) => Promise<unknown>;

class Script {
  readonly #parts: ScriptParts;
  /** The newest row of the history. */
  readonly #newest: number;

  constructor(parts: ScriptParts) {
    this.#parts = parts;
    this.#newest = parts.database.newestRow();
  }

  async reads(): Promise<void> {
    for (const path of [
      '/health',
      '/messages',
      '/messages?limit=5&offset=7',
      '/messages?since=2026-01-05T12:20:00Z',
      `/messages?conversation_id=${encodeURIComponent(GROUP)}`,
      `/messages?conversation_id=${encodeURIComponent(`any;-;${ANA}`)}&limit=3`,
      '/conversations',
      '/conversations?limit=1&offset=1',
      `/conversations/${encodeURIComponent(GROUP)}`,
      '/conversations/any;-;nobody',
      '/webhooks',
    ]) {
      await this.#ask('GET', path);
    }
    const { database } = this.#parts;
    for (let row = 1; row <= this.#newest + 1; row += 1) {
      await this.#ask('GET', `/messages/${row}?include=details`);
      const files = database.number(`SELECT count(*) FROM message_attachment_join WHERE message_id = ${row}`);
      for (let file = 0; file < files; file += 1) await this.#ask('GET', `/messages/${row}/attachments/${file}`);
    }
  }

  async mistakes(): Promise<void> {
    for (const [path, body] of [
      ['/messages', { recipient: '', body: 'x' }],
      ['/messages', { recipient: ANA }],
      ['/messages', { recipient: ANA, body: '', attachments: ['/not/there'] }],
      ['/messages', { recipient: 'chat999', body: 'x' }],
      ['/webhooks', { url: 'ftp://example.com', events: [] }],
      ['/webhooks', { url: 'http://127.0.0.1:1/hook', events: ['message.read'] }],
    ] as const) {
      await this.#ask('POST', path, body, `POST ${path} ${JSON.stringify(body)}`);
    }
    for (const path of ['/messages?limit=0', '/messages?since=yesterday', '/messages/none', '/nothing']) {
      await this.#ask('GET', path);
    }
    const { service, answers } = this.#parts;
    answers['GET /messages without a key'] = shown(await service.get('/messages', { 'x-api-key': '' }));
    answers['GET /health with 300 header lines'] = { status: await manyHeaders(service.port) };
    const calls = [{ jsonrpc: '2.0', id: 1, method: 'ping' }];
    const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const mcp = await fetch(`http://127.0.0.1:${service.port}/mcp`, {
      method: 'POST',
      headers: { ...accept, 'x-api-key': KEY },
      body: JSON.stringify(calls),
    });
    answers['POST /mcp with an array'] = { status: mcp.status };
    await mcp.body?.cancel();
  }

  async webhooks(): Promise<void> {
    const { receiver } = this.#parts;
    const register = (body: object, name: string): Promise<Answer> => this.#ask('POST', '/webhooks', body, name);
    await register({ url: receiver.url, events: TYPES, secret: 'of the client' }, 'a webhook for everything');
    const other = await register({ url: `${receiver.url}/other`, events: ['message.sent'] }, 'another webhook');
    await this.#ask('GET', '/webhooks', undefined, 'both webhooks');
    const path = `/webhooks/${(other.json as { readonly id: string }).id}`;
    await this.#ask('DELETE', path, undefined, 'the other webhook deleted');
    await this.#ask('DELETE', path, undefined, 'the other webhook deleted again');
  }

  /** Writes rows while a WebSocket and a webhook exist, each after the previous one was reported. */
  async arrivals(ask: Ask): Promise<void> {
    const { database, service } = this.#parts;
    const socket = await service.socket();
    const told = (): Promise<void> => this.#told(socket);
    const text = { name: 'notes.txt', bytes: 12 };
    for (const command of [
      { do: 'receive', from: ANA, text: 'good morning' },
      { do: 'receive', from: BEN, text: 'a file', attachment: text },
      { do: 'react', to: 1, from: ANA, type: 2003 },
      { do: 'write', to: GROUP, text: 'from my phone' },
      { do: 'link', from: ANA, text: 'read this', url: 'https://example.com/e' },
      { do: 'app', from: ANA, text: 'Your turn', type: 2 },
      { do: 'write_to_self', address: OWN_ADDRESS, text: 'eggs', isIncoming: true },
      { do: 'write_to_self', address: OWN_ADDRESS, text: 'eggs', isIncoming: false },
    ] as const) {
      await ask(command);
      await told();
    }
    const chat = database.directChat(ANA);
    // Rows that arrive when the Mac wakes: dated in the night, joined to their conversation a moment later.
    const night = { text: 'in the night', from: ANA, dateMs: Date.UTC(2026, 0, 6) };
    await this.#inTwoCommits(() => {
      const row = database.message(night);
      return () => database.join(chat, row);
    });
    await told();
    // An own message that Messages first writes as an incoming one.
    const columns = { is_from_me: 0, handle_id: 0, is_sent: 1, is_delivered: 1 };
    await this.#inTwoCommits(() => {
      const row = database.joinedMessage(chat, { text: 'mine', dateMs: Date.now(), columns });
      return () => database.update('message', row, MARKED);
    });
    await told();
    await this.#heard(socket, 'arrivals');
  }

  async sends(ask: Ask): Promise<void> {
    const socket = await this.#parts.service.socket();
    const send = async (recipient: string, body: string, more = {}): Promise<void> => {
      await this.#ask('POST', '/messages', { recipient, body, ...more }, `send ${body}`);
      await this.#told(socket);
    };
    await send(ANA, 'plain');
    await send(GROUP, 'to the group');
    await send(ANA, 'look at https://example.com/f');
    await ask({ do: 'scenario', name: 'misdirected' });
    await send(GROUP, 'beside the group');
    await ask({ do: 'scenario', name: 'no_such_chat', times: 20 });
    await this.#ask('POST', '/messages', { recipient: ANA, body: 'refused' }, 'send refused');
    await ask({ do: 'scenario', name: 'none' });
    await this.#heard(socket, 'sends');
  }

  async events(): Promise<void> {
    await this.#ask('GET', '/events?after=9&limit=3');
    await this.#ask('GET', '/events?after=0&limit=200&include=details');
    await this.#ask('GET', '/health', undefined, 'GET /health at the end');
  }

  async #ask(method: string, path: string, body?: object, name = `${method} ${path}`): Promise<Answer> {
    const { service, answers } = this.#parts;
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await service.request(method, path, {
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    answers[name] = shown(answer);
    return answer;
  }

  async #inTwoCommits(first: () => () => unknown): Promise<void> {
    const second = first();
    const { halfWrittenMs } = this.#parts;
    if (halfWrittenMs > 0) await new Promise((resolve) => void setTimeout(resolve, halfWrittenMs));
    second();
  }

  /** Waits until the newest row was reported, including rows that Messages completes a moment later. */
  async #told(socket: Listener): Promise<void> {
    const { database } = this.#parts;
    const waiting =
      'SELECT count(*) FROM message WHERE text IS NULL AND is_finished = 0 AND error = 0 AND schedule_type = 0';
    await waitFor(() => {
      const newest = String(database.newestRow());
      const isTold = socket.events.some(({ data }) => data.id === newest);
      return isTold && database.number(waiting) === 0;
    });
  }

  async #heard(socket: Listener, during: string): Promise<void> {
    const { answers, receiver } = this.#parts;
    const newest = socket.events.at(-1)?.data.id;
    await waitFor(() => receiver.deliveries.at(-1)?.event.data.id === newest);
    answers[`WebSocket during ${during}`] = socket.events;
    answers[`webhook during ${during}`] = receiver.deliveries.map(({ headers, event }) => ({
      ...event,
      headers: Object.keys(headers).sort(),
    }));
    receiver.deliveries.length = 0;
    await socket.close();
  }
}

function shown({ status, headers, text, json }: Answer): unknown {
  const link = headers.get('link');
  const type = headers.get('content-type');
  return { status, type, ...(link !== null && { link }), body: json ?? text };
}

/** Returns the status of a request with 300 header lines. */
function manyHeaders(port: number): Promise<number | undefined> {
  const headers = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-${at}`, '1']));
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/api/v1/health', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject).end();
  });
}

interface Varying {
  readonly startMs: number;
  readonly database: ChatDatabase;
  readonly folders: readonly string[];
  readonly url: string;
}

/** Removes from the answers what differs from run to run: folders, ports, guids, ids of webhooks, times of the run. */
function plain(answers: Answers, { startMs, database, folders, url }: Varying): Answers {
  const guids = database.sqlite.prepare('SELECT guid, ROWID FROM message').all();
  const names = new Map(guids.map(([guid, row]) => [String(guid), `guid of ${String(row)}`]));
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).map(([name, one]) => [name, walk(one)] as const);
      const isOwn = 'is_from_me' in value && value.is_from_me === true && isLive(value);
      // Receipts of these messages may or may not have arrived yet, so their values are replaced.
      return Object.fromEntries(isOwn ? entries.map(([name, one]) => [name, receipt(name, one)]) : entries);
    }
    if (typeof value !== 'string') return value;
    if (INSTANT.test(value) && Date.parse(value) >= startMs) return '<now>';
    if (/^[0-9a-f-]{36}$/.test(value)) return '<id>';
    const relative = folders.reduce((text, folder, at) => text.replaceAll(folder, `<folder ${at}>`), value);
    return relative
      .replaceAll(url, '<receiver>')
      .replaceAll(/[0-9A-F]{8}-[0-9A-F-]{27}/g, (guid) => names.get(guid) ?? '<guid>');
  };
  const isLive = (message: object): boolean =>
    'timestamp' in message && typeof message.timestamp === 'string' && Date.parse(message.timestamp) >= startMs;
  const receipt = (name: string, one: unknown): unknown =>
    ['status', 'read_at', 'delivered_at'].includes(name) ? '<by now>' : one;
  return walk(answers) as Answers;
}
