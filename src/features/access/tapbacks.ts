import { normalAddress } from '../../core/model/address.ts';
import { errorCode, isAppError } from '../../core/model/errors.ts';
import type { LogEntry } from '../../core/model/event.ts';
import { type IdempotencyKey, storedKey } from '../../core/model/idempotency-key.ts';
import type { Message } from '../../core/model/message.ts';
import type { ConsumerTask, EventConsumer, Handled, RowFeed } from '../../core/model/ports/feed-ports.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { MessageSender } from '../../core/model/ports/sending-ports.ts';
import type { SendPreferences } from '../../core/model/send-service.ts';
import { visible } from '../../core/model/visible.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Audit } from './audit.ts';
import { TAPBACK } from './audit-words.ts';
import type { OwnerInChatDb } from './owner-in-chatdb.ts';
import type { StoredApproval } from './ports.ts';
import { accessProblem } from './problems.ts';
import type { SelfChat } from './self-chat.ts';
import type { SelfChatProof, SelfChatStore } from './self-chat-ports.ts';

/** Problem codes for a decision that came too late. A tapback that causes one of them is only logged. */
const TOO_LATE: ReadonlySet<string> = new Set(['already_decided', 'approval_expired', 'approval_not_found']);
const DONE: Handled<undefined> = { isDone: true };

export interface TapbacksParts {
  readonly selfChat: SelfChat;
  readonly store: SelfChatStore;
  readonly desk: ApprovalDesk;
  readonly owner: OwnerInChatDb;
  readonly sender: MessageSender;
  readonly feed: () => RowFeed;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  readonly keyName: (keyId: string) => string;
  /** False if only another feature uses the self-chat. */
  readonly hasTapbacks: boolean;
}

/**
 * Decides held sends by tapbacks (decision L6). A tapback counts only if the owner made it over iMessage, in the proved
 * self-chat, on the message that asks about the send.
 */
export function tapbacks(parts: TapbacksParts) {
  const { store, feed, selfChat, sender, desk, clock, log, audit, owner, keyName, hasTapbacks } = parts;
  const task: ConsumerTask<undefined> = {
    name: 'tapbacks',
    storedOffset: () => store.offset(),
    handle,
    gone: () => undefined,
    progress: (offset) => store.progress(offset),
  };
  const asking = new Set<Promise<void>>();
  let consumer: EventConsumer | undefined;
  return { start, onProved, close, ask };

  /**
   * Starts to listen for tapbacks, and asks about each held send. Does nothing if tapbacks are off or the self-chat is
   * not proved.
   */
  function start(): void {
    if (!selfChat.isProved() || !hasTapbacks) return;
    if (consumer === undefined) {
      consumer = feed().consume(task);
      consumer.start();
    }
    for (const approval of desk.held()) ask(approval);
  }

  function onProved(proof: SelfChatProof): void {
    const offset = feed().lastPublished();
    store.prove(proof, offset);
    consumer?.seek(offset);
    start();
  }

  /** Resolves once nothing is being asked or decided. */
  async function close(): Promise<void> {
    consumer?.stop();
    await Promise.all([consumer?.ended, ...asking]);
  }

  /** Asks in the self-chat for a decision about a held send. Asks only once per approval and proof of the self-chat. */
  function ask(approval: StoredApproval): void {
    if (consumer === undefined) return;
    const request = write(approval).finally(() => asking.delete(request));
    asking.add(request);
  }

  async function handle({ guid, event }: LogEntry): Promise<Handled<undefined>> {
    // Checks the conversation before anything else: this check is cheap, and most events are from other conversations.
    const chat = store.proof()?.chat;
    if (chat === undefined || !('conversation_id' in event.data)) return DONE;
    if (event.data.conversation_id !== chat) {
      if (event.type === 'reaction.added' && event.data.is_from_me) explain(event.data.message_guid);
      return DONE;
    }
    const proof = selfChat.proof();
    if (proof === undefined) return DONE;
    if (event.type === 'message.sent' || event.type === 'message.received') noteRequest(proof, event.data);
    if (event.type === 'reaction.added' && event.data.is_from_me) decide(proof, guid, event.data.message_guid);
    return DONE;
  }

  async function write(approval: StoredApproval): Promise<void> {
    const { id } = approval;
    try {
      const proof = selfChat.proof();
      if (proof === undefined) return;
      const body = textOf(approval);
      if (body === undefined) {
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
        body,
        attachments: [],
        idempotencyKey,
        check: () => {
          if (selfChat.proof()?.provedMs !== proof.provedMs) throw accessProblem('self_chat_disabled');
          const { state } = desk.get(id) ?? { state: 'void' };
          if (state !== 'held') throw accessProblem('already_decided', { state });
        },
      });
    } catch (error) {
      log.warn('a held send could not be written into the self-chat', { approval: id, code: errorCode(error) });
    }
  }

  /**
   * Links a message in the self-chat to an approval, if the message is exactly the text that asks about this approval.
   * Messages may store a message to oneself twice, and a tapback on either copy counts.
   */
  function noteRequest({ address }: SelfChatProof, { guid, body, sender, is_from_me: isFromMe }: Message): void {
    if (!isFromMe && normalAddress(sender) !== address) return;
    const approval = desk.held().find((held) => textOf(held) === body);
    if (approval !== undefined) store.addRequest(guid, { approvalId: approval.id, textHmac: audit.hmac(body) });
  }

  /**
   * Decides by the tapback that is on the message now. The tapback in the event may have been removed or changed since.
   */
  function decide({ chat }: SelfChatProof, guid: string, messageGuid: string): void {
    const request = store.request(messageGuid);
    if (request === undefined) return;
    const { approvalId } = request;
    const { message, tapback } = owner.tapbackOn(messageGuid) ?? {};
    const approval = desk.get(approvalId);
    if (message === undefined || tapback === undefined || approval === undefined) return;
    const isSame = message.conversation_id === chat && audit.hmac(message.body) === request.textHmac;
    if (!isSame || !tapback.isIMessage || tapback.conversationId !== chat) {
      log.warn('ignored a tapback: it was not sent over iMessage, or its message has changed', { guid, approvalId });
      return;
    }
    try {
      if (tapback.type === 'thumbs_up') desk.approve(approvalId, approval.shown, TAPBACK);
      else if (tapback.type === 'thumbs_down') desk.deny(approvalId, TAPBACK);
    } catch (error) {
      if (!isAppError(error) || !TOO_LATE.has(error.code)) throw error;
      log.info('a tapback came too late', { approvalId, code: error.code });
    }
  }

  /**
   * Says why a tapback decides nothing: it is on a copy of the question in the conversation with another of the owner's
   * addresses, which is not proved, and in which keys may write.
   */
  function explain(messageGuid: string): void {
    const held = desk.held();
    const body = held.length === 0 ? undefined : owner.tapbackOn(messageGuid)?.message.body;
    const approval = body === undefined ? undefined : held.find((one) => textOf(one) === body);
    if (approval === undefined) return;
    log.warn(
      'a tapback decided nothing, because it is in the conversation with another of your addresses; make it in the ' +
        'proved conversation, or decide in the console',
      { approvalId: approval.id },
    );
  }

  function textOf(approval: StoredApproval): string | undefined {
    return requestText(approval, keyName(approval.key_id));
  }
}

/**
 * Maximum length of a text in a request, in UTF-16 code units. Sends with a longer text are decided in the console,
 * because nobody reads them to the end on a phone.
 */
const MAX_TEXT = 2000;
/**
 * Maximum length of a whole request, in UTF-16 code units: text, file names and readers, with invisible characters
 * spelled out.
 */
const MAX_LENGTH = 4000;

/**
 * Returns the message in the self-chat that asks for a decision; undefined if it is too long. The destination comes
 * first, then the exact text. Each line of the text begins with a bar, so that no line can look like one that Postern
 * wrote.
 */
export function requestText(approval: StoredApproval, keyName: string): string | undefined {
  const { id, to, members, text, attachments } = approval;
  if (text === null || text.length > MAX_TEXT) return undefined;
  const lines = [
    'Postern asks: send this?',
    `To: ${line(to)}`,
    ...(members.length === 1 && members[0] === to ? [] : [`Read by: ${members.map(line).join(', ')}`]),
    ...(text === '' ? [] : text.split('\n').map((part) => `│ ${visible(part)}`)),
    ...attachments.map(({ name, bytes }) => `File: ${line(name)}, ${bytes} bytes`),
    ...optionLines(approval),
    ...(approval.send_at === undefined ? [] : [`At: ${approval.send_at}`]),
    `Asked by the key ${line(keyName)}, until ${approval.expires_at}`,
    `Tapback 👍 sends it, 👎 does not. Typed answers do nothing. (${id})`,
  ];
  const whole = lines.join('\n');
  return whole.length > MAX_LENGTH ? undefined : whole;
}

function line(text: string): string {
  return visible(text.replaceAll('\n', ' '));
}

function optionLines({ service, fallback }: SendPreferences): readonly string[] {
  return [
    ...(service === undefined ? [] : [`By: ${service}`]),
    ...(fallback === undefined ? [] : [`If that fails: ${fallback}`]),
  ];
}
