import { AccessSending, ME, SELF_CHAT } from './access-sending.ts';
import type { ChatFixture } from './chat-fixture.ts';
import { idle } from './sender-fixture.ts';

export const UP = 2001;
export const DOWN = 2002;

export interface Tapback {
  readonly on: string;
  readonly type?: number;
  readonly chat?: string;
  readonly service?: string;
  readonly isOwn?: boolean;
  readonly from?: string;
  readonly emoji?: string;
}

/** A service whose owner has a conversation with themselves, configured to decide there. */
export class SelfChatFixture {
  service: AccessSending;

  constructor(folder: string) {
    this.service = new AccessSending(folder, { selfAddress: ME });
    const chat = this.service.chats.chat(SELF_CHAT, [ME], { last_addressed_handle: ME });
    this.service.chats.message({ chat, is_from_me: 1, text: 'a note', account: `E:${ME}` });
  }

  chatId(guid: string): number {
    return Number(this.service.chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(guid)?.[0]);
  }

  /** Returns the guid of the newest message that contains this text. */
  guidOf(text: string): string {
    const found = this.service.chats.sqlite.prepare(
      'SELECT guid FROM message WHERE instr(text, ?) ORDER BY ROWID DESC',
    );
    return String(found.get(text)?.[0] ?? '');
  }

  /** Returns the code in the newest message. */
  code(): string {
    return /\d{6}/.exec(this.service.texts().at(-1) ?? '')?.[0] ?? '';
  }

  async published(): Promise<void> {
    await idle();
    await this.service.publish();
    await idle();
  }

  async prove(): Promise<void> {
    await this.service.access.start();
    await this.service.publish();
    await this.service.clock.advance(60_000);
    await this.service.selfChat.sendCode();
    this.service.selfChat.prove(this.code());
    await this.published();
  }

  /** Sends something that is held; it is shown in the self-chat if that is proved. */
  async asked(body = 'May I?') {
    const held = await this.service.hold(this.service.caller({ approval: 'always' }), { body });
    await this.published();
    return held;
  }

  async stateOf(id: string): Promise<string> {
    return (await this.service.approvals.get(id, 0)).state;
  }

  async tapback({ on, type = UP, chat = SELF_CHAT, isOwn = true, from, emoji, ...rest }: Tapback): Promise<void> {
    this.service.chats.message({
      chat: this.chatId(chat),
      is_from_me: isOwn ? 1 : 0,
      handle_id: from === undefined ? 0 : this.service.chats.handle(from),
      associated_message_type: type,
      associated_message_guid: `p:0/${on}`,
      associated_message_emoji: emoji ?? null,
      ...rest,
    });
    await this.published();
  }

  /** Restarts the service with the same state.db, as after a crash. */
  async restart(options: { readonly chats?: ChatFixture; readonly selfAddress?: string } = {}): Promise<void> {
    this.service = await this.service.restarted({ selfAddress: ME, ...options });
  }
}
