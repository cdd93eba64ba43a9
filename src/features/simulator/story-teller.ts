import type { SqlValue } from '../../core/runtime/sqlite.ts';
import { appleDate, type ChatDatabase } from './chat-database.ts';
import { hum, landscape } from './media.ts';
import { changeRow, contentColumns, linkBalloon, POLLS, voteColumns } from './row-commands.ts';
import type { Messages } from './simulated-messages.ts';
import type { Step } from './story.ts';

const OBJECT = '\uFFFC';
const PART = '__kIMMessagePartAttributeName';

const PLAN = `<svg xmlns="http://www.w3.org/2000/svg" width="240" height="120"><rect width="240" height="120" fill="#cfe8c6"/><text x="20" y="65" font-size="20">beans | tomatoes</text></svg>`;

const FILES = {
  photo: { name: 'IMG_2041.png', mimeType: 'image/png', make: () => landscape() },
  plan: { name: 'garden-plan.svg', mimeType: 'image/svg+xml', make: () => Buffer.from(PLAN) },
  voice: { name: 'Audio Message.caf', mimeType: 'audio/x-caf', make: hum },
} as const;

/** Performs the steps of a script, each as Messages writes it. Remembers the rows that later steps name. */
export class StoryTeller {
  readonly #messages: Messages;
  readonly #database: ChatDatabase;
  readonly #garden: number;
  readonly #isRead: boolean;
  readonly #rows = new Map<string, number>();

  /** `garden` is the row id of the group's chat. `isRead` marks incoming messages as read by the owner. */
  constructor(messages: Messages, garden: number, { isRead = false }: { readonly isRead?: boolean } = {}) {
    this.#messages = messages;
    this.#database = messages.database;
    this.#garden = garden;
    this.#isRead = isRead;
  }

  perform(step: Step, dateMs: number): void {
    const row = this.#write(step, dateMs);
    if (step.as !== undefined && row !== undefined) this.#rows.set(step.as, row);
  }

  #write(step: Step, dateMs: number): number | undefined {
    const database = this.#database;
    if ('edit' in step) {
      changeRow(database, { do: 'edit', row: this.#row(step.edit), text: step.text }, dateMs);
    } else if ('unsend' in step) {
      changeRow(database, { do: 'unsend', row: this.#row(step.unsend) }, dateMs);
    } else if ('reactTo' in step) {
      const { from, type, emoji = null } = step;
      const to = this.#row(step.reactTo);
      const chat = database.chatOf(to);
      if (chat === undefined) return undefined; // the owner deleted the message
      database.reaction(chat, to, { dateMs, type, emoji, ...(from !== undefined && { from }) });
    } else if ('file' in step) {
      return this.#file(step, dateMs);
    } else if ('link' in step) {
      const row = this.#message(step, dateMs, step.text);
      const chat = this.#chat(step);
      const link = { chat, row, url: step.link, ...(step.from !== undefined && { from: step.from }) };
      const balloon = linkBalloon(database, link, dateMs + 40);
      database.update('message', balloon, {
        ...contentColumns('page about gardens'),
        ...this.#readColumns(step, dateMs),
      });
      return row;
    } else if ('poll' in step) {
      return this.#message(step, dateMs, OBJECT, { ...contentColumns('poll with a title'), balloon_bundle_id: POLLS });
    } else if ('voteIn' in step) {
      return this.#message(step, dateMs, '', voteColumns(database, this.#row(step.voteIn)));
    } else if ('named' in step) {
      const columns = { item_type: 2, group_title: step.named, attributedBody: null, text: null };
      return this.#message(step, dateMs, '', columns);
    } else {
      return this.#text(step, dateMs);
    }
    return undefined;
  }

  #text(step: Extract<Step, { readonly replyTo?: string }>, dateMs: number): number {
    const { text, replyTo, error, effect } = step;
    const columns = {
      ...(replyTo !== undefined && {
        thread_originator_guid: this.#database.guid(this.#row(replyTo)),
        thread_originator_part: '0:0:1',
      }),
      ...(effect !== undefined && { expressive_send_style_id: effect }),
      ...(error !== undefined && { error, is_sent: 0, is_delivered: 0, date_delivered: 0, date_read: 0 }),
    };
    return this.#message(step, dateMs, text, columns);
  }

  #file(step: Extract<Step, { readonly file: string }>, dateMs: number): number {
    const { make, ...file } = FILES[step.file];
    const { transcript, text = '' } = step;
    const isVoice = transcript !== undefined;
    const attributes = { [PART]: 0, ...(isVoice && { IMAudioTranscription: transcript }) };
    const rest = text === '' ? [] : [{ length: text.length, attributes: { [PART]: 1 } }];
    const runs = [{ length: 1, attributes }, ...rest];
    const columns = { cache_has_attachments: 1, is_audio_message: isVoice ? 1 : 0 };
    const row = this.#message(step, dateMs, OBJECT + text, columns, runs);
    this.#messages.addFile(row, { ...file, content: make() });
    return row;
  }

  #message(
    step: Step,
    dateMs: number,
    text: string,
    columns: Readonly<Record<string, SqlValue>> = {},
    runs?: Parameters<ChatDatabase['message']>[0]['runs'],
  ): number {
    const { from } = step;
    return this.#database.joinedMessage(this.#chat(step), {
      text,
      dateMs,
      ...(from !== undefined && { from }),
      ...(runs !== undefined && { runs }),
      columns: { ...this.#readColumns(step, dateMs), ...columns },
    });
  }

  /** Outgoing messages count as read by their recipient. Incoming ones are read only if `isRead`. */
  #readColumns({ from }: Step, dateMs: number): Readonly<Record<string, SqlValue>> {
    const date = appleDate(dateMs + 1000);
    if (from !== undefined) return this.#isRead ? { is_read: 1, date_read: date } : {};
    return { is_sent: 1, is_delivered: 1, date_delivered: date, is_read: 1, date_read: date };
  }

  #chat({ inGarden, from, to }: Step): number {
    return inGarden === true ? this.#garden : this.#database.directChat(to ?? from ?? '');
  }

  #row(name: string): number {
    const row = this.#rows.get(name);
    if (row === undefined) throw new Error(`no step is called ${name}`);
    return row;
  }
}
