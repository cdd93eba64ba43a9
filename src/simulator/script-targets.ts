import type { ChatDatabase } from './chat-database.ts';
import type { Behaviour, SendCommand } from './commands.ts';

/** How many chats the live list of macOS 27.0 held, however many there were (reported of 27.0, build 26A428). */
const LIVE_LIST_LENGTH = 200;

/** A telephone number or an e-mail address. For anything else Messages has no participant (decision S5). */
const ADDRESS = /^(?:\+?[\d\s().-]{3,}|[^\s@;]+@[^\s@;]+)$/u;

/** Where a send goes: a chat; a row in no chat; or the number of the error that is raised before anything is sent. */
export type Target = { readonly chat: number; readonly service: string } | 'ghost' | number;

/** What one attempt of the send script reaches, which may be no chat of chat.db at all. */
export function targetOf(database: ChatDatabase, command: SendCommand, behaviour: Behaviour): Target {
  const { recipient, chatId, service } = command;
  if (chatId !== '') return chatTarget(database, chatId, behaviour);
  if (!ADDRESS.test(recipient)) return -1728;
  // `1st account whose … and enabled = true` without such an account is a bad index.
  const accounts = behaviour.accounts.filter((account) => account.isEnabled);
  const account = accounts.find((one) => service === '' || one.service === service);
  if (account === undefined) return -1719;
  // Messages chooses the conversation with a person itself: another address or service of theirs.
  const address = behaviour.chooses[recipient] ?? recipient;
  return { chat: database.directChat(address, account.service), service: account.service };
}

/** Ids as Messages' own list has them. */
export function liveIds(database: ChatDatabase, { livePrefix, liveList }: Behaviour): readonly string[] {
  if (liveList === 'complete') {
    return database.guids().map((guid) => (livePrefix === null ? guid : livePrefix + guid.slice(guid.indexOf(';'))));
  }
  // macOS 27.0: 200 ids, every one `any;-;…`, also where chat.db has `iMessage;-;…` (reported of 27.0, build 26A428).
  const others = Array.from({ length: LIVE_LIST_LENGTH }, (_, index) => `any;-;+1555900${1000 + index}`);
  return liveList === 'people' ? others : [];
}

/**
 * An id that is not in the live list is -1728, also when chat.db has it (steipete/imsg #244); on macOS 26 an id with a
 * service for its prefix is such a one.
 */
function chatTarget(database: ChatDatabase, chatId: string, behaviour: Behaviour): Target {
  const style = chatId.slice(chatId.indexOf(';') + 1);
  if (style.startsWith('-;') && database.guids().some((guid) => guid.endsWith(`;+;${style.slice(2)}`))) {
    // A group spelt as a person "succeeds" with an empty row in no chat (openclaw/imsg #90).
    return 'ghost';
  }
  if (!liveIds(database, behaviour).includes(chatId)) return -1728;
  const guid = database.guids().find((stored) => stored.endsWith(`;${style}`));
  const chat = guid === undefined ? undefined : database.findChat(guid);
  return chat === undefined ? -1728 : { chat, service: database.serviceOf(chat) };
}
