import { normalAddress } from '../../core/model/address.ts';
import { errorCode } from '../../core/model/errors.ts';
import type { LogEntry } from '../../core/model/event.ts';
import { type IdempotencyKey, storedKey } from '../../core/model/idempotency-key.ts';
import type { Message } from '../../core/model/message.ts';
import type { EventConsumer, Handled, RowFeed } from '../../core/model/ports/feed-ports.ts';
import type { Log } from '../../core/model/ports/host-ports.ts';
import type { OwnerQuestion, Questions, SelfChatProof } from './ports.ts';
import { selfChatProblem } from './problems.ts';
import type { SelfChat, SelfChatParts } from './self-chat.ts';

const DONE: Handled<undefined> = { isDone: true };

interface TapbacksParts extends Pick<SelfChatParts, 'store' | 'owner' | 'sender' | 'clock'> {
  readonly feed: Pick<RowFeed, 'consume' | 'lastPublished'>;
  readonly log: Log;
}

/**
 * Asks questions in the self-chat, and decides them by tapbacks (decision L6). A tapback counts only if the owner made
 * it over iMessage, in the proved self-chat, on the message that asks the question.
 */
export class Tapbacks {
  /** The address at which the owner decides; "" for none. */
  readonly address: string;
  readonly #parts: TapbacksParts;
  readonly #chat: SelfChat;
  readonly #asking = new Set<Promise<void>>();
  #questions: Questions | undefined;
  #consumer: EventConsumer | undefined;

  constructor(parts: TapbacksParts, chat: SelfChat, address: string) {
    this.#parts = parts;
    this.#chat = chat;
    this.address = address;
    chat.onProved(() => {
      this.#consumer?.seek(parts.feed.lastPublished());
      this.#listen();
    });
  }

  /**
   * Starts to listen for tapbacks, and asks each open question. Without an address does nothing; without a proof, waits
   * for one.
   */
  start(questions: Questions): void {
    this.#questions = questions;
    this.#listen();
  }

  /** Resolves once nothing is being asked or decided. */
  async close(): Promise<void> {
    this.#consumer?.stop();
    await Promise.all([this.#consumer?.ended, ...this.#asking]);
  }

  /** Asks the question in the self-chat. Asks only once per question and proof of the self-chat. */
  ask(question: OwnerQuestion): void {
    const questions = this.#questions;
    if (this.#consumer === undefined || questions === undefined) return;
    const asked = this.#write(question, questions).finally(() => this.#asking.delete(asked));
    this.#asking.add(asked);
  }

  #listen(): void {
    const questions = this.#questions;
    // Asked even without an address, because this forgets a proof of another one.
    const isProved = this.#chat.isProved();
    if (questions === undefined || this.address === '' || !isProved) return;
    const { store, feed } = this.#parts;
    if (this.#consumer === undefined) {
      this.#consumer = feed.consume<undefined>({
        name: 'tapbacks',
        storedOffset: () => store.offset(),
        handle: async (entry) => this.#handle(entry, questions),
        gone: () => undefined,
        progress: (offset) => store.progress(offset),
      });
      this.#consumer.start();
    }
    for (const question of questions.open()) this.ask(question);
  }

  #handle({ guid, event }: LogEntry, questions: Questions): Handled<undefined> {
    // Checks the conversation before anything else: this check is cheap, and most events are from other conversations.
    const chat = this.#parts.store.proof()?.chat;
    if (chat === undefined || !('conversation_id' in event.data)) return DONE;
    if (event.data.conversation_id !== chat) {
      if (event.type === 'reaction.added' && event.data.is_from_me) this.#explain(event.data.message_guid, questions);
      return DONE;
    }
    const proof = this.#chat.proof();
    if (proof === undefined) return DONE;
    if (event.type === 'message.sent' || event.type === 'message.received') {
      this.#noteQuestion(proof, event.data, questions);
    }
    if (event.type === 'reaction.added' && event.data.is_from_me) {
      this.#decide(proof, guid, event.data.message_guid, questions);
    }
    return DONE;
  }

  async #write({ id, text }: OwnerQuestion, questions: Questions): Promise<void> {
    const { store, sender, clock, log } = this.#parts;
    try {
      const proof = this.#chat.proof();
      if (proof === undefined) return;
      if (text === undefined) {
        log.info('a held send is too long for the self-chat, so the console has to decide it', { approval: id });
        return;
      }
      const idempotencyKey: IdempotencyKey = { kind: 'tapback', key: `${proof.provedMs}\0${id}` };
      if (store.reserve(storedKey(idempotencyKey), clock.now()) !== undefined) {
        log.info('too many messages to the self-chat this hour, so the console has to decide a held send', {
          approval: id,
        });
        return;
      }
      await sender.send({
        recipient: proof.address,
        body: text,
        attachments: [],
        idempotencyKey,
        check: () => {
          if (this.#chat.proof()?.provedMs !== proof.provedMs) throw selfChatProblem('self_chat_disabled');
          questions.assertOpen(id);
        },
      });
    } catch (error) {
      log.warn('a held send could not be written into the self-chat', { approval: id, code: errorCode(error) });
    }
  }

  /**
   * Links a message in the self-chat to a question, if the message is exactly the text that asks it. Messages may store
   * a message to oneself twice, and a tapback on either copy counts.
   */
  #noteQuestion(
    { address }: SelfChatProof,
    { guid, body, sender, is_from_me: isFromMe }: Message,
    questions: Questions,
  ): void {
    if (!isFromMe && normalAddress(sender) !== address) return;
    const question = questions.open().find(({ text }) => text === body);
    if (question === undefined) return;
    this.#parts.store.addQuestion(guid, { questionId: question.id, textHmac: questions.hmac(body) });
  }

  /**
   * Decides by the tapback that is on the message now. The tapback in the event may have been removed or changed since.
   */
  #decide({ chat }: SelfChatProof, guid: string, messageGuid: string, questions: Questions): void {
    const { store, owner, log } = this.#parts;
    const question = store.question(messageGuid);
    if (question === undefined) return;
    const { questionId } = question;
    const { message, tapback } = owner.tapbackOn(messageGuid) ?? {};
    if (message === undefined || tapback === undefined) return;
    const isSame = message.conversation_id === chat && questions.hmac(message.body) === question.textHmac;
    if (!isSame || !tapback.isIMessage || tapback.conversationId !== chat) {
      log.warn('ignored a tapback: it was not sent over iMessage, or its message has changed', {
        guid,
        approvalId: questionId,
      });
      return;
    }
    if (tapback.type === 'thumbs_up') questions.decide(questionId, true);
    else if (tapback.type === 'thumbs_down') questions.decide(questionId, false);
  }

  /**
   * Says why a tapback decides nothing: it is on a copy of the question in the conversation with another of the owner's
   * addresses, which is not proved, and in which keys may write.
   */
  #explain(messageGuid: string, questions: Questions): void {
    const open = questions.open();
    const body = open.length === 0 ? undefined : this.#parts.owner.tapbackOn(messageGuid)?.message.body;
    const question = body === undefined ? undefined : open.find(({ text }) => text === body);
    if (question === undefined) return;
    this.#parts.log.warn(
      'a tapback decided nothing, because it is in the conversation with another of your addresses; make it in the ' +
        'proved conversation, or decide in the console',
      { approvalId: question.id },
    );
  }
}
