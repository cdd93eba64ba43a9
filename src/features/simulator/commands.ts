import { lookupTable } from '../../core/model/lookup-table.ts';
import type { SqlValue } from '../../core/runtime/sqlite.ts';

/** A fault in the next sends, as many as the command's `times` says. After these sends, Messages works again. */
export type Scenario =
  | 'no_such_chat' // −1728
  | 'not_permitted' // −1743
  | 'not_coerced' // −1700, raised before anything is sent (decision D2)
  | 'connection_lost' // −609
  | 'timed_out' // −1712
  | 'refused' // −10000, as an example of any other number
  | 'hang' // never answers
  | 'slow' // answers after `delayMs`
  | 'error_22' // exit 0, then the row fails: recipient not on iMessage
  | 'error_25' // exit 0, then the row fails: attachment
  | 'ghost' // exit 0, an empty row in no chat
  | 'misdirected' // exit 0, a row in a new conversation with a person named by the group's identifier
  | 'nothing' // exit 0, no row at all (openclaw/imsg #234, #249; openclaw/openclaw #85624)
  | 'crash'; // osascript dies of a signal

/** One attempt to send, with the values that osascript received as environment variables. */
export interface SendCommand {
  readonly do: 'send';
  readonly recipient: string;
  /** Id of the chat to send to. Empty to send to `recipient` as a participant. */
  readonly chatId: string;
  /** Service of the account to send from. Empty for any account. */
  readonly service: string;
  readonly body?: string;
  readonly attachment?: string;
}

/** How Messages and macOS react to a script. */
export interface Behaviour {
  /** How macOS answers a program that wants to control Messages. `asks` shows a dialog until somebody answers it. */
  readonly automation: 'granted' | 'asks' | 'denied';
  /** The accounts of Messages, in the order in which Messages lists them to a script. */
  readonly accounts: readonly { readonly service: string; readonly isEnabled: boolean }[];
  /**
   * Prefix of the chat ids that Messages lists to a script, such as `any`; null to list the ids as chat.db has them.
   */
  readonly livePrefix: string | null;
  /**
   * `complete`: Messages lists all chats to a script. `people`: Messages lists only 200 one-to-one chats, none of which
   * is in chat.db.
   */
  readonly liveList: 'complete' | 'people';
  /** Maps a participant's address to the address whose conversation Messages uses instead. */
  readonly chooses: Readonly<Record<string, string>>;
  /**
   * Which file the attachment's row names: Messages' own copy, the original, or the original with `~` for the home
   * folder.
   */
  readonly stagedFiles: 'copied' | 'in_place' | 'in_place_tilde';
  /** `mirrored`: a message to oneself also arrives as an incoming one. */
  readonly selfChat: 'mirrored' | 'single';
  /** `dead`: nothing arrives from Apple, neither receipts nor the copies of messages to oneself. */
  readonly push: 'works' | 'dead';
  /** `two_rows`: a link beside text is sent as a separate row, as on macOS 26.4. */
  readonly links: 'two_rows' | 'one_row';
  /**
   * How an outgoing row is inserted. `marked`: as an outgoing row. `without_handle`: as an incoming row without a
   * handle. `with_handle`: as an incoming row with the other person's handle. An incoming row is marked as outgoing a
   * moment after its chat join (steipete/imsg issue 80, pull request 87).
   */
  readonly ownRows: 'marked' | 'without_handle' | 'with_handle';
  /** Seed of the random delays between changes of chat.db. With null, the delays are the same in every run. */
  readonly seed: number | null;
}

/** A command to the simulated Messages: one line of JSON, answered by one line. */
export type Command =
  | SendCommand
  /** Scripts that send nothing. They ask whether Messages runs or may be controlled, or for its chats or accounts. */
  | { readonly do: 'running' | 'probe' | 'chats' | 'accounts' }
  | { readonly do: 'open' }
  | ({ readonly do: 'behave' } & Partial<Behaviour>)
  /** Quits Messages. Its next start takes `startupMs`. */
  | { readonly do: 'quit'; readonly startupMs: number }
  /** The user answers the dialog. */
  | { readonly do: 'answer'; readonly isAllowed: boolean }
  | { readonly do: 'dialog' }
  | {
      readonly do: 'scenario';
      readonly name: Scenario | 'none';
      readonly times?: number;
      readonly delayMs?: number;
      /** Sends the message even though osascript fails. */
      readonly goesOut?: boolean;
      /** Writes that message's row this long after osascript's end. `send` and rows are not one transaction. */
      readonly rowAfterMs?: number;
      readonly language?: 'en' | 'de' | 'ja';
    }
  | {
      readonly do: 'receive';
      readonly from: string;
      readonly text: string;
      /** Guid of the chat. Default: the one-to-one chat with the sender. */
      readonly chat?: string;
      readonly service?: string;
      readonly dateMs?: number;
      /** Delay between the row and its chat join; 0 writes both in one transaction. */
      readonly joinAfterMs?: number;
      /**
       * How macOS 27 filters the message: the columns `filter_action` and `filter_sub_action`, which earlier versions
       * lack.
       */
      readonly filter?: { readonly code: number; readonly subCode?: number };
      /**
       * How Messages files the conversation: the columns `is_filtered` and `is_blackholed` of its chat. Numbers above 1
       * are in no list of a Mac (Sentient-OS, pull request 102).
       */
      readonly hides?: { readonly isFiltered?: number; readonly isBlackholed?: number };
      /**
       * A file of `bytes` bytes, or with the content of `path`. The file is complete `afterMs` after the message's row
       * is inserted.
       */
      readonly attachment?: {
        readonly name: string;
        readonly bytes: number;
        readonly path?: string;
        readonly afterMs?: number;
      };
    }
  /** The owner writes on another device. */
  | { readonly do: 'write'; readonly to: string; readonly text: string }
  /** Without `from`, the owner reacts on another device. */
  | {
      readonly do: 'react';
      readonly to: number;
      readonly from?: string;
      readonly type: number;
      readonly emoji?: string;
      /** The part of the message, or the balloon of a link or an app. The first part by default. */
      readonly on?: number | 'balloon';
    }
  /** With `leavesText`, the column `text` keeps what it had, as some rows do (imsgcrawl, pull request 8). */
  | { readonly do: 'edit'; readonly row: number; readonly text: string; readonly leavesText?: boolean }
  | { readonly do: 'unsend'; readonly row: number; readonly leavesText?: boolean }
  /**
   * A message of an app. `type` is the row's `associated_message_type`. `session` is the id of the row that began the
   * game.
   */
  | {
      readonly do: 'app';
      readonly from: string;
      readonly text: string;
      readonly type: 2 | 3;
      readonly session?: number;
    }
  /** One message of each kind of content, from this person. */
  | { readonly do: 'contents'; readonly from: string }
  | { readonly do: 'poll'; readonly from: string }
  | { readonly do: 'add_option' | 'vote'; readonly poll: number; readonly from: string }
  /** A text and its link, as two rows. */
  | { readonly do: 'link'; readonly from: string; readonly text: string; readonly url: string }
  /** One of the two rows of a message to oneself. */
  | { readonly do: 'write_to_self'; readonly address: string; readonly text: string; readonly isIncoming: boolean }
  | { readonly do: 'read'; readonly row: number }
  /** The owner opens a chat, named by its guid, and so reads its new messages. */
  | { readonly do: 'open_chat'; readonly chat: string }
  /** The owner reads a chat on another device: only the chat's read mark moves, no row changes (Omaimsg, issue 30). */
  | { readonly do: 'read_elsewhere'; readonly chat: string }
  | { readonly do: 'recover'; readonly row: number }
  | { readonly do: 'delete'; readonly row: number; readonly recoverable?: boolean }
  | { readonly do: 'schedule'; readonly to: string; readonly text: string; readonly inMs: number }
  /**
   * A member has a new address, which Messages writes as a removal and an addition at the same time (imessage-exporter,
   * pull request 683).
   */
  | { readonly do: 'change_address'; readonly chat: string; readonly from: string; readonly to: string }
  | { readonly do: 'rename_group'; readonly chat: string; readonly name: string; readonly by: string }
  | {
      readonly do: 'group';
      readonly identifier: string;
      readonly participants: readonly string[];
      readonly name?: string;
      /** The guid of a group that `chat_lookup` joins to this one. Since macOS 26 only. */
      readonly joins?: string;
    }
  /** Joins a row to a second chat. `named` is true if the row also names that chat's group. */
  | { readonly do: 'also_in'; readonly row: number; readonly chat: string; readonly named?: boolean }
  | { readonly do: 'group_picture'; readonly chat: string; readonly by: string }
  /**
   * iCloud fills in old messages, an hour apart. The newest is 25 hours old. Rows in `again` come a second time under
   * new guids. Reported: 1,958 such rows in 18 days, none with the original's guid (claude-plugins, issue 5224).
   * With `ownText`, the messages are the owner's to `from`, and all have this text.
   */
  | {
      readonly do: 'backfill';
      readonly from: string;
      readonly count: number;
      readonly again?: readonly number[];
      readonly ownText?: string;
    }
  /**
   * The Mac wakes: messages of the last `hours` arrive at once. Each row has its original date, and its chat join
   * follows after a delay (default: 5 to 300 ms).
   */
  | {
      readonly do: 'wake';
      readonly from: string;
      readonly count: number;
      readonly hours: number;
      readonly joinAfterMs?: number;
    }
  /** The demo's people tell their story again. */
  | { readonly do: 'story' }
  | { readonly do: 'burst'; readonly from: string; readonly count: number }
  /** Another chat.db in its place, with `rows` rows; default 1. */
  | { readonly do: 'replace'; readonly rows?: number }
  | { readonly do: 'insert'; readonly table: string; readonly values: Readonly<Record<string, SqlValue>> };

/** How a run of osascript ends. */
export interface ScriptEnd {
  readonly exitCode: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** True if the run never ends. */
  readonly hangs?: boolean;
  /** True if osascript dies of SIGABRT. */
  readonly crashes?: boolean;
}

const REACTIONS: Readonly<Record<string, number | undefined>> = lookupTable({
  love: 2000,
  like: 2001,
  dislike: 2002,
  laugh: 2003,
  emphasize: 2004,
  question: 2005,
});
const EMOJI = 2006;
const REMOVED = 1000;

/**
 * Returns the value of `associated_message_type` for a reaction. A name that is not in `REACTIONS` counts as an emoji.
 */
export function reactionNamed(name: string, isRemoved: boolean): { readonly type: number; readonly emoji?: string } {
  const known = Object.hasOwn(REACTIONS, name) ? REACTIONS[name] : undefined;
  const type = (known ?? EMOJI) + (isRemoved ? REMOVED : 0);
  return known === undefined ? { type, emoji: name } : { type };
}
