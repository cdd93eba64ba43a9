import { randomInt, randomUUID } from 'node:crypto';
import type { SelfChatRecord } from '../../client/access-types.ts';
import { chatIdentity, normalAddress, rightsAddress } from '../../core/model/address.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { ChatDirectory, ChatMembers } from '../../core/model/ports/directory-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { MessageSender } from '../../core/model/ports/sending-ports.ts';
import type { OwnerInChatDb } from './owner-in-chatdb.ts';
import { personId } from './policy.ts';
import { accessProblem } from './problems.ts';
import { resolveRecipient } from './rights.ts';
import type { SelfChatProof, SelfChatStore } from './self-chat-ports.ts';

const CODE_LIFETIME_MS = 10 * 60_000;
const MAX_WRONG_CODES = 5;

export interface SelfChatParts {
  /** The address of the owner; "" if there is none. */
  readonly address: string;
  /** True if the owner decides about held sends by tapback in the self-chat. */
  readonly hasTapbacks: boolean;
  readonly store: SelfChatStore;
  readonly directory: ChatDirectory;
  readonly owner: OwnerInChatDb;
  readonly sender: MessageSender;
  readonly clock: Clock;
  readonly onProved: (proof: SelfChatProof) => void;
}

/**
 * Manages the self-chat, the owner's conversation with themselves. The owner configures its address, and proves it by
 * entering a code that Postern sends there. Postern never guesses the address.
 */
export function selfChatOf(parts: SelfChatParts) {
  const { address, hasTapbacks, store, owner, directory, sender, clock, onProved } = parts;
  let sent: { readonly digits: string; readonly chat: string; readonly untilMs: number; wrong: number } | undefined;
  return { get, isProved, provedMs, proof, sendCode, prove };

  function get(): SelfChatRecord {
    if (address === '') throw accessProblem('self_chat_disabled');
    const proved = proof();
    return {
      address,
      conversation_id: proved?.chat ?? null,
      proved_at: proved === undefined ? null : isoSecond(proved.provedMs),
    };
  }

  /** Reports whether the configured address was proved. Deletes a stored proof of another address. */
  function isProved(): boolean {
    const stored = store.proof();
    if (stored !== undefined && stored.address !== address) store.forget();
    return stored?.address === address;
  }

  /** Returns when the configured address was proved, Unix milliseconds; undefined if it was not. */
  function provedMs(): number | undefined {
    return isProved() ? store.proof()?.provedMs : undefined;
  }

  /**
   * Returns the proof of the configured address. Returns undefined if there is none, or if the proved conversation is
   * no longer one-to-one with that address.
   */
  function proof(): SelfChatProof | undefined {
    const stored = store.proof();
    return stored?.address === address && isOwn(stored.chat) ? stored : undefined;
  }

  async function sendCode(): Promise<SelfChatRecord> {
    const record = get();
    const isKnown = owner.addresses().some((own) => normalAddress(own) === address);
    // Sends a code only to an address that chat.db knows as one of the owner's.
    if (!isKnown || resolveRecipient(directory, address) === undefined) throw accessProblem('self_chat_unknown');
    const nowMs = clock.now();
    const freeAtMs = store.reserve(`\0code\0${randomUUID()}`, nowMs);
    if (freeAtMs !== undefined) {
      const seconds = Math.max(1, Math.ceil((freeAtMs - nowMs) / 1000));
      throw accessProblem('self_chat_full', { seconds }, { headers: { 'Retry-After': String(seconds) } });
    }
    sent = undefined;
    const digits = String(randomInt(1_000_000)).padStart(6, '0');
    const { confirmed, message } = await sender.send({
      recipient: address,
      body: codeText(digits, hasTapbacks),
      attachments: [],
    });
    const chat = message.conversation_id;
    if (!confirmed || !isOwn(chat)) throw accessProblem('self_chat_unseen');
    sent = { digits, chat, untilMs: clock.monotonic() + CODE_LIFETIME_MS, wrong: 0 };
    return record;
  }

  function prove(given: string): SelfChatRecord {
    get();
    const code = sent;
    const isOpen = code !== undefined && clock.monotonic() < code.untilMs && code.wrong < MAX_WRONG_CODES;
    if (!isOpen || code.digits !== given.replaceAll(/\s/g, '') || !isOwn(code.chat)) {
      if (code !== undefined) code.wrong += 1;
      throw accessProblem('code_wrong');
    }
    sent = undefined;
    onProved({ address, chat: code.chat, provedMs: clock.now() });
    return get();
  }

  /** Reports whether `chat` is a one-to-one conversation with only the configured address. */
  function isOwn(chat: string): boolean {
    const destination = resolveRecipient(directory, address);
    return destination?.address === address && destination.chats.includes(chat);
  }
}

export type SelfChat = ReturnType<typeof selfChatOf>;

/**
 * Returns a directory in which the owner's self-chat is closed, so that no key's list opens it. Used while the owner
 * decides by tapback.
 */
export function selfChatClosed(directory: ChatDirectory, address: string): ChatDirectory {
  const marked = (chat: ChatMembers): ChatMembers => {
    const { guid, isGroup, members } = chat;
    const isNamed = !isGroup && normalAddress(chatIdentity(guid)?.identifier ?? '') === address;
    const isAlone = members.length > 0 && members.every((member) => normalAddress(member) === address);
    return isNamed || isAlone ? { ...chat, isClosed: true } : chat;
  };
  return {
    version: () => directory.version(),
    meant(recipient) {
      const isSelf = (rightsAddress(recipient) ?? personId(recipient)?.address) === address;
      const chats = directory.meant(recipient).map(marked);
      // Adds a closed chat. A self-chat without messages is not in chat.db yet, and a key must not create it.
      return isSelf ? [{ guid: recipient, isGroup: false, members: [], isClosed: true }, ...chats] : chats;
    },
    chat(guid) {
      const chat = directory.chat(guid);
      return chat && marked(chat);
    },
    withMember: (member) => directory.withMember(member).map(marked),
    conversationOf: (rowId) => directory.conversationOf(rowId),
    chatsOfRows: (rowIds) => directory.chatsOfRows(rowIds),
    hasOwnMessage: (guid) => directory.hasOwnMessage(guid),
  };
}

function codeText(digits: string, hasTapbacks: boolean): string {
  const use = hasTapbacks
    ? 'Your tapbacks here then decide on waiting messages'
    : 'Postern then writes a short message here every six hours to see whether messages still arrive';
  return (
    `Postern: ${digits} is the code of this conversation. Type it where you asked for it. ${use}. ` +
    'If you did not ask for a code, somebody else has your key. Replace the key with "postern config rotate-key".'
  );
}
