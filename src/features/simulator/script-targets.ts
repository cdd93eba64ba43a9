import type { ChatDatabase } from './chat-database.ts';
import type { Behaviour, SendCommand } from './commands.ts';

/**
 * Number of chats that Messages listed to a script on macOS 27.0, however many there were (reported of build 26A428).
 */
const LIVE_LIST_LENGTH = 200;

/** A telephone number or an e-mail address. Messages has no participant for anything else (decision S5). */
const ADDRESS = /^(?:\+?[\d\s().-]{3,}|[^\s@;]+@[^\s@;]+)$/u;

/**
 * The target of a send: a chat, `ghost` for a row in no chat, or the number of an error that is raised before anything
 * is sent.
 */
export type ScriptTarget = { readonly chat: number; readonly service: string } | 'ghost' | number;

/** Finds the target of one run of the send script. Creates the one-to-one chat with a participant if it is missing. */
export function scriptTargetOf(database: ChatDatabase, command: SendCommand, behaviour: Behaviour): ScriptTarget {
  const { recipient, chatId, service } = command;
  if (chatId !== '') return chatTarget(database, chatId, behaviour);
  if (!ADDRESS.test(recipient)) return -1728;
  // Without a matching account, `1st account whose … and enabled = true` fails with -1719, an invalid index.
  const accounts = behaviour.accounts.filter((account) => account.isEnabled);
  const account = accounts.find((one) => service === '' || one.service === service);
  if (account === undefined) return -1719;
  // Messages itself chooses the conversation with a person. It may use the person's conversation under another address
  // or service.
  const address = behaviour.chooses[recipient] ?? recipient;
  return { chat: database.directChat(address, account.service), service: account.service };
}

/** Returns the chat ids that Messages lists to a script. */
export function liveIds(database: ChatDatabase, { livePrefix, liveList }: Behaviour): readonly string[] {
  if (liveList === 'complete') {
    return database.guids().map((guid) => (livePrefix === null ? guid : livePrefix + guid.slice(guid.indexOf(';'))));
  }
  // macOS 27.0 listed 200 ids, all `any;-;…`, even if chat.db had `iMessage;-;…` (reported of build 26A428).
  const others = Array.from({ length: LIVE_LIST_LENGTH }, (_, index) => `any;-;+1555900${1000 + index}`);
  return liveList === 'people' ? others : [];
}

/**
 * Finds the target that a chat id names. An id that Messages does not list to a script fails with -1728, even if
 * chat.db has it (steipete/imsg #244). On macOS 26, ids with a service prefix fail too.
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
