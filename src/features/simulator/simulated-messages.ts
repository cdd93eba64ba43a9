import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { pause } from '../../core/runtime/clock.ts';
import { arrive } from './arrivals.ts';
import { AttachmentFolder, type SimulatedFile } from './attachment-folder.ts';
import { appleDate, ChatDatabase } from './chat-database.ts';
import type { Command, ScriptEnd, SendCommand } from './commands.ts';
import { Delays, JOIN_AFTER_MS, MARK_AFTER_MS } from './delays.ts';
import type { MacosVersion } from './macos-versions.ts';
import { MARKED, mirrorToSelf, unmarkedColumns, writeElsewhere } from './own-messages.ts';
import { changeRow, linkBalloon, textAndLink } from './row-commands.ts';
import { Scenarios } from './scenarios.ts';
import { EVENT_LIMIT_MS, ScriptHost } from './script-host.ts';
import { liveIds, scriptTargetOf } from './script-targets.ts';

const ATTACHMENT_CHARACTER = '\uFFFC';
const BALLOON_AFTER_MS = 40;
/** Delays until a row is sent, delivered and read. They begin once the row has its chat join and outgoing mark. */
const SENT_AFTER_MS = 150;
const DELIVERED_AFTER_MS = 400;
const READ_AFTER_MS = 1500;
const FAILS_AFTER_MS = 1500;

const NEVER = new AbortController().signal;

export interface MessagesParts {
  /** Home folder of the simulated user. */
  readonly home: string;
  readonly version: MacosVersion;
  readonly clock: Clock;
  /** Called with every sent text, so that a simulated person can answer. */
  readonly onSent?: (chat: number, row: number, text: string) => void;
}

type IncomingFile = NonNullable<Extract<Command, { do: 'receive' }>['attachment']>;

/** The simulated Messages: writes chat.db like the real one and obeys osascript. */
export class Messages {
  readonly #parts: MessagesParts;
  readonly #folder: AttachmentFolder;
  #database: ChatDatabase;
  readonly #scenarios = new Scenarios();
  readonly #host: ScriptHost;
  #delays = new Delays();

  constructor(parts: MessagesParts) {
    this.#parts = parts;
    this.#folder = new AttachmentFolder(parts.home);
    this.#host = new ScriptHost(parts.clock, (number) => this.#scenarios.error(number));
    this.#database = ChatDatabase.open(this.path, parts.version);
  }

  get path(): string {
    return join(this.#parts.home, 'Library/Messages/chat.db');
  }

  get database(): ChatDatabase {
    return this.#database;
  }

  close(): void {
    this.#database.close();
  }

  /** Performs a command. Throws an error with the reason if the command is invalid. */
  async perform(command: Command, signal: AbortSignal = NEVER): Promise<unknown> {
    const database = this.#database;
    const nowMs = this.#parts.clock.now();
    if ('row' in command && database.guid(command.row) === '') throw new Error(`there is no row ${command.row}`);
    switch (command.do) {
      case 'send':
        return this.#host.event(EVENT_LIMIT_MS.send, signal, () => this.send(command));
      case 'probe':
        return this.#host.event(EVENT_LIMIT_MS.probe, signal, async () => ({ exitCode: 0, stdout: '1\n' }));
      case 'chats':
        return this.#print(signal, () => liveIds(database, this.#host.behaviour).join('\n'));
      case 'accounts':
        return this.#print(signal, () => {
          const { accounts } = this.#host.behaviour;
          return [...accounts.map(({ service }) => service), ...accounts.map(({ isEnabled }) => isEnabled)].join(', ');
        });
      case 'running':
        return this.#host.running();
      case 'open':
        this.#host.open();
        return { exitCode: 0 } satisfies ScriptEnd;
      case 'quit':
        this.#host.quit(command.startupMs);
        return {};
      case 'behave':
        this.#host.behave(command);
        this.#delays = new Delays(command.seed);
        return {};
      case 'answer':
        return { wasOpen: this.#host.answer(command.isAllowed) };
      case 'dialog':
        return this.#host.dialog;
      case 'scenario':
        this.#scenarios.begin(command);
        return {};
      case 'receive':
        return this.#receive(command, nowMs);
      case 'write':
        return { row: this.#writeElsewhere(command, nowMs) };
      case 'react':
      case 'edit':
      case 'unsend':
      case 'app':
      case 'contents':
      case 'poll':
      case 'add_option':
      case 'vote':
      case 'link':
      case 'write_to_self':
      case 'schedule':
      case 'group':
      case 'also_in':
      case 'group_picture':
      case 'rename_group':
      case 'change_address':
        return changeRow(database, command, nowMs);
      case 'read':
        database.update('message', command.row, { is_read: 1, date_read: appleDate(nowMs) });
        return {};
      case 'open_chat':
        database.readChat(command.chat, nowMs);
        return {};
      case 'read_elsewhere':
        database.markRead(command.chat, nowMs);
        return {};
      case 'recover':
        database.recover(command.row);
        return {};
      case 'delete':
        if (command.recoverable === true) database.deleteToRecoverable(command.row, nowMs);
        else database.deleteMessage(command.row);
        return {};
      case 'wake':
      case 'backfill':
      case 'burst':
        arrive(database, command, { clock: this.#parts.clock, delays: this.#delays });
        return { newest: database.newestRow() };
      case 'replace':
        this.#database = this.#database.replaced(this.path, nowMs, command.rows ?? 1);
        return {};
      case 'insert':
        if (!/^\w+$/.test(command.table)) throw new Error('that is not the name of a table');
        return { row: database.insert(command.table, command.values) };
      default:
        throw new Error(`there is no command ${JSON.stringify((command as { do?: unknown }).do)}`);
    }
  }

  #print(signal: AbortSignal, text: () => string): Promise<ScriptEnd> {
    return this.#host.event(EVENT_LIMIT_MS.send, signal, async () => ({ exitCode: 0, stdout: `${text()}\n` }));
  }

  /** Performs one run of the send script. Called only if Messages runs and macOS permits the run. */
  async send(command: SendCommand): Promise<ScriptEnd> {
    const scenario = this.#scenarios.next();
    if (scenario?.name === 'slow') await pause(this.#parts.clock, scenario.delayMs);
    const failure = scenario?.end;
    if (failure !== undefined && scenario?.goesOut !== true) return failure;
    if (command.attachment !== undefined && !existsSync(command.attachment)) return this.#scenarios.error(-43);
    if (scenario?.name === 'nothing') return { exitCode: 0 };
    const target = scriptTargetOf(this.#database, command, this.#host.behaviour);
    if (typeof target === 'number') return this.#scenarios.error(target);
    if (target === 'ghost' || scenario?.name === 'ghost') {
      this.#outgoing(command, 'SMS');
      return { exitCode: 0 };
    }
    if (scenario?.name === 'misdirected') {
      // On macOS 26, Messages made an SMS conversation with the group's identifier as its person (openclaw/imsg #90).
      const identifier = (command.chatId || command.recipient).split(';').at(-1) ?? '';
      const chat = this.#database.directChat(identifier, 'SMS');
      this.#deliver(chat, this.#outgoing(command, 'SMS', chat), command, 22);
      return { exitCode: 0 };
    }
    let fails: number | undefined;
    if (scenario?.name === 'error_22') fails = 22;
    if (scenario?.name === 'error_25') fails = 25;
    const write = (): void =>
      this.#deliver(target.chat, this.#outgoing(command, target.service, target.chat), command, fails);
    if (scenario !== undefined && scenario.rowAfterMs > 0) this.#parts.clock.after(scenario.rowAfterMs, write);
    else write();
    return failure ?? { exitCode: 0 };
  }

  /** Inserts an outgoing row. Without `chat`, inserts a ghost: an empty row that belongs to no chat. */
  #outgoing(command: SendCommand, service: string, chat?: number): number {
    const database = this.#database;
    const isGhost = chat === undefined;
    const dateMs = this.#parts.clock.now();
    // Messages keeps a body's carriage returns. An attachment's row has one placeholder character as its text.
    const text = isGhost ? '' : (this.#linkOf(command)?.text ?? command.body ?? ATTACHMENT_CHARACTER);
    const unmarked = isGhost ? {} : unmarkedColumns(database, chat, this.#host.behaviour.ownRows);
    // In a one-to-one chat an outgoing row often has the recipient's handle (fixtures of beeper/platform-imessage).
    const handle = chat === undefined || !database.isDirect(chat) ? 0 : database.firstHandle(chat);
    const columns = { is_finished: 0, service, handle_id: handle, ...unmarked };
    const row = database.message({ text, dateMs, columns });
    if (command.attachment === undefined) return row;
    const { stagedFiles } = this.#host.behaviour;
    const stored = this.#folder.keep(command.attachment, row, database.guid(row), stagedFiles);
    database.attach(row, { filename: stored.name, bytes: stored.bytes, isOutgoing: true, transferState: 3 });
    return row;
  }

  /** Returns the text and the link of a message that Messages stores as two rows; undefined for any other message. */
  #linkOf({ body }: SendCommand): ReturnType<typeof textAndLink> {
    return body === undefined || this.#host.behaviour.links === 'one_row' ? undefined : textAndLink(body);
  }

  /** Schedules a row's chat join, then the marks for sent, delivered and read, or a failure with the code `error`. */
  #deliver(chat: number, row: number, command: SendCommand, error: number | undefined): void {
    const database = this.#database;
    const joinAfterMs = this.#delays.in(JOIN_AFTER_MS);
    this.later(joinAfterMs, row, () => database.join(chat, row));
    const link = this.#linkOf(command);
    if (link !== undefined) {
      const { url } = link;
      this.later(joinAfterMs + BALLOON_AFTER_MS, row, () =>
        linkBalloon(database, { chat, row, url }, this.#parts.clock.now()),
      );
    }
    const markedAfterMs = joinAfterMs + this.#markAfter(joinAfterMs, row);
    const { push } = this.#host.behaviour;
    const selfChat = push === 'dead' ? 'single' : this.#host.behaviour.selfChat;
    this.later(joinAfterMs, row, () =>
      mirrorToSelf(database, { chat, text: command.body, dateMs: this.#parts.clock.now() }, selfChat),
    );
    if (error !== undefined) {
      this.later(FAILS_AFTER_MS, row, () => database.update('message', row, { error, is_finished: 1 }));
      return;
    }
    this.later(markedAfterMs + SENT_AFTER_MS, row, () => {
      database.update('message', row, { is_sent: 1, is_finished: 1 });
      this.#parts.onSent?.(chat, row, command.body ?? '');
    });
    if (push === 'dead') return;
    this.later(markedAfterMs + DELIVERED_AFTER_MS, row, () =>
      database.update('message', row, { is_delivered: 1, date_delivered: appleDate(this.#parts.clock.now()) }),
    );
    this.later(markedAfterMs + READ_AFTER_MS, row, () =>
      database.update('message', row, { is_read: 1, date_read: appleDate(this.#parts.clock.now()) }),
    );
  }

  /** Schedules the outgoing mark unless `ownRows` is `marked`. Returns its delay after the chat join in ms, or 0. */
  #markAfter(joinAfterMs: number, row: number): number {
    if (this.#host.behaviour.ownRows === 'marked') return 0;
    const afterMs = this.#delays.in(MARK_AFTER_MS);
    this.later(joinAfterMs + afterMs, row, () => this.#database.update('message', row, MARKED));
    return afterMs;
  }

  #writeElsewhere({ to, text }: Extract<Command, { do: 'write' }>, dateMs: number): number {
    const row = writeElsewhere(this.#database, { to, text, dateMs, ownRows: this.#host.behaviour.ownRows });
    this.#markAfter(0, row);
    return row;
  }

  async #receive(command: Extract<Command, { do: 'receive' }>, nowMs: number): Promise<unknown> {
    const database = this.#database;
    const { from, service = 'iMessage', joinAfterMs = 0, attachment, filter } = command;
    const chat = command.chat === undefined ? database.directChat(from, service) : database.findChat(command.chat);
    if (chat === undefined) throw new Error(`there is no chat ${command.chat}`);
    const { isFiltered = 0, isBlackholed = 0 } = command.hides ?? {};
    if (command.hides !== undefined) {
      database.update('chat', chat, { is_filtered: isFiltered, is_blackholed: isBlackholed });
    }
    const text = attachment === undefined ? command.text : `${ATTACHMENT_CHARACTER}${command.text}`;
    const columns = {
      ...(attachment !== undefined && { cache_has_attachments: 1 }),
      ...(filter !== undefined && { filter_action: filter.code, filter_sub_action: filter.subCode ?? 0 }),
    };
    const message = { text, from, service, dateMs: command.dateMs ?? nowMs, columns };
    const row = joinAfterMs === 0 ? database.joinedMessage(chat, message) : database.message(message);
    if (joinAfterMs > 0) this.later(joinAfterMs, row, () => database.join(chat, row));
    if (attachment !== undefined) this.#attachLater(row, attachment);
    return { row, guid: database.guid(row) };
  }

  /** Adds an incoming file: first its row without a path, then the path once the bytes are on disk. */
  #attachLater(row: number, { name, bytes, path, afterMs = 0 }: IncomingFile): void {
    const database = this.#database;
    const arrive = (): void => {
      const attachment = database.attach(row, { filename: null, name, transferState: 0 });
      const finish = (): void => {
        const content = path === undefined ? Buffer.alloc(bytes, 'postern ') : readFileSync(path);
        const file = this.#folder.write(content, name, row, database.guid(row));
        database.update('attachment', attachment, { filename: file.name, transfer_state: 5, total_bytes: file.bytes });
      };
      if (afterMs === 0) finish();
      else this.later(afterMs / 2, row, finish);
    };
    if (afterMs === 0) arrive();
    else this.later(afterMs / 2, row, arrive);
  }

  /** Runs `work` after a delay, unless the database has been replaced or the message is gone by then. */
  later(ms: number, row: number, work: () => void): void {
    const database = this.#database;
    this.#parts.clock.after(ms, () => {
      if (database === this.#database && database.guid(row) !== '') work();
    });
  }

  addFile(row: number, { name, mimeType, content }: SimulatedFile): void {
    const file = this.#folder.write(content, name, row, this.#database.guid(row));
    this.#database.attach(row, { filename: file.name, name, mimeType, bytes: file.bytes });
  }
}
