import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Approval, AuditEntry } from '../../src/client/access-types.ts';
import type { KeyRecord } from '../../src/client/key-types.ts';
import { appleNs, ChatFixture } from './chat-fixture.ts';
import { FakeExecutable } from './fake-osascript.ts';
import { type Answer, Service, type ServiceOptions } from './service.ts';
import { whenFileEnds } from './temporary.ts';

export const ANA = '+15550100';
export const BEN = '+15550101';
export const CLEO = 'cleo@example.org';
export const MALLORY = '+15550166';
export const GARDEN = 'any;+;chat77';
/** A group whose members are all listed individually, but not as a group. */
export const BOOK_CLUB = 'any;+;chat88';

/** Words that occur in the messages of one conversation only. */
export const WORDS = {
  [`any;-;${ANA}`]: 'from-ana',
  [`any;-;${BEN}`]: 'from-ben',
  [`any;-;${CLEO}`]: 'from-cleo',
  [GARDEN]: 'in-the-garden',
  [BOOK_CLUB]: 'in-the-book-club',
  // The id names a listed number, but somebody else reads the conversation.
  'any;-;+15550120': 'from-an-impostor',
} as const;

export type KeyAnswer = KeyRecord & { readonly key: string };

/** A limited key and the requests made with it. */
export interface LimitedClient {
  readonly record: KeyAnswer;
  readonly get: (path: string) => Promise<Answer>;
  readonly post: (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  readonly request: (method: string, path: string) => Promise<Answer>;
}

/** A service whose chat.db has a few people, with an osascript that records its calls. */
export class AccessFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-access-'));
  readonly chats = new ChatFixture(join(this.folder, 'chat.db'));
  readonly osascript = new FakeExecutable(this.folder);
  /** Row id of one message of each conversation, by conversation id. */
  readonly messages: Readonly<Record<string, number>>;
  readonly chatIds: Readonly<Record<string, number>>;
  service!: Service;

  private constructor() {
    const members: Readonly<Record<string, readonly string[]>> = {
      [`any;-;${ANA}`]: [ANA],
      [`any;-;${BEN}`]: [BEN],
      [`any;-;${CLEO}`]: [CLEO],
      [GARDEN]: [ANA, BEN],
      [BOOK_CLUB]: [ANA, CLEO],
      'any;-;+15550120': [MALLORY],
    };
    const chatIds: Record<string, number> = {};
    const messages: Record<string, number> = {};
    let minute = 0;
    for (const [guid, people] of Object.entries(members)) {
      const chat = this.chats.chat(guid, people);
      chatIds[guid] = chat;
      minute += 1;
      const row = {
        chat,
        text: WORDS[guid as keyof typeof WORDS],
        date: appleNs(`2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`),
      };
      const message = this.chats.message({ ...row, handle_id: this.chats.handle(people[0] ?? '') });
      const file = join(this.folder, 'Attachments', `${WORDS[guid as keyof typeof WORDS]}.txt`);
      mkdirSync(join(this.folder, 'Attachments'), { recursive: true });
      writeFileSync(file, WORDS[guid as keyof typeof WORDS]);
      this.chats.attach(message, file);
      messages[guid] = message;
      this.chats.message({
        chat,
        associated_message_type: 2000,
        associated_message_guid: `p:0/${this.chats.guid(message)}`,
        handle_id: this.chats.handle(people[0] ?? ''),
        date: row.date + 1n,
      });
    }
    this.chatIds = chatIds;
    this.messages = messages;
  }

  static async start(settings: ServiceOptions['settings'] = {}): Promise<AccessFixture> {
    const fixture = new AccessFixture();
    whenFileEnds(() => rmSync(fixture.folder, { recursive: true, force: true }));
    fixture.service = await Service.here({
      chatDbPath: fixture.chats.path,
      osascriptPath: fixture.osascript.path,
      settings: { ...settings, send: { confirm_ms: 100, ...settings.send } },
    });
    return fixture;
  }

  async key(body: Readonly<Record<string, unknown>>): Promise<LimitedClient> {
    const answer = await this.service.post('/keys', { name: 'test', ...body });
    if (answer.status !== 201) throw new Error(answer.text);
    const record = answer.json as KeyAnswer;
    const headers = { 'x-api-key': record.key };
    return {
      record,
      get: (path) => this.service.get(path, headers),
      post: (path, sent, more) => this.service.post(path, sent, { ...headers, ...more }),
      request: (method, path) => this.service.request(method, path, { headers }),
    };
  }

  /** Returns the recipient and text of every send through osascript. */
  sends(): readonly { readonly to: string; readonly text: string }[] {
    // Messages is also asked for things that send nothing.
    return this.osascript
      .runs()
      .filter(({ env }) => env.POSTERN_RECIPIENT !== undefined)
      .map(({ env }) => ({ to: env.POSTERN_RECIPIENT ?? '', text: env.POSTERN_BODY ?? '' }));
  }

  async audit(query = ''): Promise<readonly AuditEntry[]> {
    return (await this.service.get(`/audit${query}`)).json as readonly AuditEntry[];
  }

  async approvals(query = ''): Promise<readonly Approval[]> {
    return (await this.service.get(`/approvals${query}`)).json as readonly Approval[];
  }

  async dispose(): Promise<void> {
    await this.service.dispose();
    this.chats.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
