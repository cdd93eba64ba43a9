import type { Conversation } from '../../domain/conversation.ts';
import type { IncludeSet } from '../../domain/include.ts';
import type { Message } from '../../domain/message.ts';
import { conversationWithNames, messageWithNames } from '../../domain/names.ts';
import type { Contacts } from '../../domain/ports/contacts.ts';
import type { ConversationQuery, MessageQuery, MessageReader, Page, ReadOptions } from '../../domain/ports/reading.ts';

/** Adds requested names to another reader's results (decision K1). */
export class NamedReader implements MessageReader {
  readonly #reader: MessageReader;
  readonly #contacts: Contacts;

  constructor(reader: MessageReader, contacts: Contacts) {
    this.#reader = reader;
    this.#contacts = contacts;
  }

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    const page = await this.#reader.listMessages(query);
    if (!(await this.#isAsked(query.include))) return page;
    const { names } = this.#contacts;
    return { ...page, items: page.items.map((message) => messageWithNames(message, names)) };
  }

  async message(id: string, options: ReadOptions = {}): Promise<Message | undefined> {
    const message = await this.#reader.message(id, options);
    if (message === undefined || !(await this.#isAsked(options.include))) return message;
    return messageWithNames(message, this.#contacts.names);
  }

  async listConversations(query: ConversationQuery): Promise<Page<Conversation>> {
    const page = await this.#reader.listConversations(query);
    if (!(await this.#isAsked(query.include))) return page;
    const { names } = this.#contacts;
    return { ...page, items: page.items.map((conversation) => conversationWithNames(conversation, names)) };
  }

  async conversation(id: string, options: ReadOptions = {}): Promise<Conversation | undefined> {
    const conversation = await this.#reader.conversation(id, options);
    if (conversation === undefined || !(await this.#isAsked(options.include))) return conversation;
    return conversationWithNames(conversation, this.#contacts.names);
  }

  /** Reports whether names are requested, after waiting until they are loaded. */
  async #isAsked(include: IncludeSet | undefined): Promise<boolean> {
    if (include?.has('contacts') !== true) return false;
    await this.#contacts.ready();
    return true;
  }
}
