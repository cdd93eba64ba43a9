import { isChatDbAway } from '../../core/model/errors.ts';
import type { IdempotencyKey } from '../../core/model/idempotency-key.ts';
import type { Message } from '../../core/model/message.ts';
import type { Deferral } from '../../core/model/ports/deferral-ports.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';
import type { SendAnswer, SendRequest } from '../../core/model/ports/sending-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { provisional } from '../../core/sender/provisional.ts';
import type { Sender } from '../../core/sender/sender.ts';
import type { LimitedKey } from './limited-key.ts';
import { assertStillAllowed, sendRight } from './rights.ts';

export interface AllowedSendsParts {
  readonly sender: Pick<Sender, 'send' | 'check'>;
  readonly deferrals: Pick<Deferral, 'add' | 'mistakes'>;
  readonly directory: ChatDirectory;
  readonly clock: Clock;
  readonly messages: Pick<MessageReader, 'message'>;
  /** Returns a sent message as the key sees it. */
  readonly shown: (message: Message) => Message;
}

type AllowedAnswer = Extract<SendAnswer, { readonly kind: 'sent' | 'deferred' }>;

/** Makes the sends that a limited key may make. Checks again, when its turn comes, that the key still may. */
export class AllowedSends {
  readonly #key: LimitedKey;
  readonly #parts: AllowedSendsParts;

  constructor(key: LimitedKey, parts: AllowedSendsParts) {
    this.#key = key;
    this.#parts = parts;
  }

  /** Makes the checks of a send before it is queued, and throws what `send` throws then. */
  async check(request: SendRequest, to: string): Promise<void> {
    const { sender, deferrals } = this.#parts;
    await sender.check({ ...request, recipient: to }, deferrals.mistakes(request));
  }

  /** Sends or defers a request that the key may make. */
  async send(request: SendRequest, to: string, idempotencyKey: IdempotencyKey): Promise<AllowedAnswer> {
    const { sender, deferrals, clock } = this.#parts;
    const { id: keyId } = this.#key.stored;
    const check = (): void => {
      assertStillAllowed(this.#parts, this.#key, to);
      this.#assertStillDirect(to);
    };
    const queued = { ...request, recipient: to, idempotencyKey, keyId, check };
    if (request.sendAtMs !== undefined) {
      const deferred = await deferrals.add(queued, { keyId });
      return { kind: 'deferred', deferred, replayed: deferred.replayed };
    }
    const { message, ...sent } = await sender.send(queued);
    if (sent.replayed && sent.confirmed && !this.#mayBeOf(message)) {
      return { kind: 'sent', confirmed: false, message: provisional(request, clock.now()), replayed: true };
    }
    return { kind: 'sent', ...sent, message: this.#parts.shown(message) };
  }

  /**
   * Returns a message that was sent earlier; undefined if its row is missing, and while chat.db is unreadable: the
   * message was sent, so a problem would say the wrong thing about it.
   */
  async made(id: string): Promise<Message | undefined> {
    try {
      const message = await this.#parts.messages.message(id);
      return message && this.#mayBeOf(message) ? this.#parts.shown(message) : undefined;
    } catch (error) {
      if (isChatDbAway(error)) return undefined;
      throw error;
    }
  }

  /**
   * Reports whether a stored row can be a message that this key sent. If chat.db was replaced a moment ago, another
   * message may have its row id.
   */
  #mayBeOf({ is_from_me: isFromMe, conversation_id: chat }: Message): boolean {
    return isFromMe && sendRight(this.#parts.directory, this.#key, chat) !== 'no';
  }

  /**
   * Refuses a send if the owner began to require approval or switched on dry run while the send waited for its turn. A
   * repeated request then follows the new settings.
   */
  #assertStillDirect(to: string): void {
    if (this.#key.stored.dry_run || sendRight(this.#parts.directory, this.#key, to) !== 'yes') {
      throw problem('recipient_not_allowed');
    }
  }
}
