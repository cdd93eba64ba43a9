import type { ChatDatabase } from './chat-database.ts';
import type { Behaviour, SendCommand } from './commands.ts';

/** Length of the live list on macOS 27.0, however many chats there were (reported of 27.0, build 26A428). */
const LIVE_LIST_LENGTH = 200;

/** A telephone number or an e-mail address. Messages has no participant for anything else (decision S5). */
const ADDRESS = /^(?:\+?[\d\s().-]{3,}|[^\s@;]+@[^\s@;]+)$/u;

/** The target of a send: a chat, a row in no chat, or the error number that is raised before anything is sent. */
export type ScriptTarget = { readonly chat: number; readonly service: string } | 'ghost' | number;

/** Resolves the target of one run of the send script. The target need not be a chat in chat.db. */
export function targetOf(database: ChatDatabase, command: SendCommand, behaviour: Behaviour): ScriptTarget {
  const { recipient, chatId, service } = command;
  if (chatId !== '') return chatTarget(database, chatId, behaviour);
  if (!ADDRESS.test(recipient)) return -1728;
  // Without a matching account, `1st account whose … and enabled = true` is an invalid index.
  const accounts = behaviour.accounts.filter((account) => account.isEnabled);
  const account = accounts.find((one) => service === '' || one.service === service);
  if (account === undefined) return -1719;
  // Messages itself chooses the conversation with a person, possibly that of another address or service.
  const address = behaviour.chooses[recipient] ?? recipient;
  return { chat: database.directChat(address, account.service), service: account.service };
}

/** Returns the ids in Messages' live list. */
export function liveIds(database: ChatDatabase, { livePrefix, liveList }: Behaviour): readonly string[] {
  if (liveList === 'complete') {
    return database.guids().map((guid) => (livePrefix === null ? guid : livePrefix + guid.slice(guid.indexOf(';'))));
  }
  // macOS 27.0: 200 ids, all `any;-;…`, even if chat.db has `iMessage;-;…` (reported of 27.0, build 26A428).
  const others = Array.from({ length: LIVE_LIST_LENGTH }, (_, index) => `any;-;+1555900${1000 + index}`);
  return liveList === 'people' ? others : [];
}

/**
 * Resolves a chat id. An id that is not in the live list fails with -1728 even if chat.db has it (steipete/imsg #244).
 * On macOS 26 that includes ids with a service prefix.
 */
function chatTarget(database: ChatDatabase, chatId: string, behaviour: Behaviour): ScriptTarget {
  const style = chatId.slice(chatId.indexOf(';') + 1);
  if (style.startsWith('-;') && database.guids().some((guid) => guid.endsWith(`;+;${style.slice(2)}`))) {
    // A group addressed as a person "succeeds" with an empty row in no chat (openclaw/imsg #90).
    return 'ghost';
  }
  if (!liveIds(database, behaviour).includes(chatId)) return -1728;
  const guid = database.guids().find((stored) => stored.endsWith(`;${style}`));
  const chat = guid === undefined ? undefined : database.findChat(guid);
  return chat === undefined ? -1728 : { chat, service: database.serviceOf(chat) };
}
