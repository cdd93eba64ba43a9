import type { SqlValue } from '../runtime/sqlite.ts';

/** What may go wrong with the next sends; `times` of them, then Messages behaves again. */
export const SCENARIOS = [
  'no_such_chat', // −1728
  'not_permitted', // −1743
  'connection_lost', // −609
  'timed_out', // −1712
  'refused', // −10000, any other number
  'hang', // never answers
  'slow', // answers after `delayMs`
  'error_22', // exit 0, then the row fails: not on iMessage
  'error_25', // exit 0, then the row fails: attachment
  'ghost', // exit 0, an empty row in no chat
  'misdirected', // exit 0, a row in a new conversation with the group's identifier as its person
  'nothing', // exit 0, no row at all
  'crash', // osascript dies of a signal
] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** One attempt to send, as the environment of osascript says it. */
export interface SendCommand {
  readonly do: 'send';
  readonly recipient: string;
  /** Empty: the recipient is a participant. */
  readonly chatId: string;
  /** Empty: of any account. */
  readonly service: string;
  readonly body?: string;
  readonly attachment?: string;
}

/** How Messages and macOS meet a script. */
export interface Behaviour {
  /** What macOS says to a program that wants to control Messages; `asks`: a dialog, until somebody answers. */
  readonly automation: 'granted' | 'asks' | 'denied';
  /** In the order of Messages' list. */
  readonly accounts: readonly { readonly service: string; readonly isEnabled: boolean }[];
  /** What the ids in the live list begin with; null: as in chat.db. */
  readonly livePrefix: string | null;
  /** `people`: 200 one-to-one chats and nothing else. */
  readonly liveList: 'complete' | 'people';
  /** Address of a participant, and the address whose conversation Messages takes instead. */
  readonly chooses: Readonly<Record<string, string>>;
  /** Whether the attachment's row names Messages' own copy or the file it was given, and how. */
  readonly stagedFiles: 'copied' | 'in_place' | 'in_place_tilde';
  /** Whether what is written to oneself comes once more, as an incoming message. */
  readonly selfChat: 'mirrored' | 'single';
  /** Whether a link beside text is sent as a row of its own, as on macOS 26.4. */
  readonly links: 'two_rows' | 'one_row';
  /**
   * How an own row is inserted: as one, or as an incoming one without a handle or with the other person's, which is marked
   * as own a moment after its chat join (steipete/imsg issue 80, pull request 87).
   */
  readonly ownRows: 'marked' | 'without_handle' | 'with_handle';
  /** What the delays of rows are drawn from; null: each as the turn has it. */
  readonly seed: number | null;
}

/** What can be asked of the simulated Messages: a line of JSON each, answered by a line. */
export type Command =
  | SendCommand
  /** Of the scripts without anything to send: whether it runs, whether it may be controlled, its chats and accounts. */
  | { readonly do: 'running' | 'probe' | 'chats' | 'accounts' }
  | { readonly do: 'open' }
  | ({ readonly do: 'behave' } & Partial<Behaviour>)
  /** Messages ends; when it is opened it takes so long to come up. */
  | { readonly do: 'quit'; readonly startupMs: number }
  /** The person answers the dialog. */
  | { readonly do: 'answer'; readonly isAllowed: boolean }
  | { readonly do: 'dialog' }
  | {
      readonly do: 'scenario';
      readonly name: Scenario | 'none';
      readonly times?: number;
      readonly delayMs?: number;
      /** The message goes out all the same, whatever osascript says. */
      readonly goesOut?: boolean;
      readonly language?: 'en' | 'de' | 'ja';
    }
  | {
      readonly do: 'receive';
      readonly from: string;
      readonly text: string;
      /** Guid of the chat; default the one-to-one chat with the sender. */
      readonly chat?: string;
      readonly service?: string;
      readonly dateMs?: number;
      /** How long after the row its chat join appears; 0 is in one transaction. */
      readonly joinAfterMs?: number;
      /** Where macOS 27 files it: `filter_action` and `filter_sub_action`, which are left out before 27. */
      readonly filter?: { readonly code: number; readonly subCode?: number };
      /** A file of so many bytes, or with those of the file at `path`, with its row so long after the message. */
      readonly attachment?: {
        readonly name: string;
        readonly bytes: number;
        readonly path?: string;
        readonly afterMs?: number;
      };
    }
  /** The person writes on another device. */
  | { readonly do: 'write'; readonly to: string; readonly text: string }
  /** Without `from` the person reacts, on another device. */
  | {
      readonly do: 'react';
      readonly to: number;
      readonly from?: string;
      readonly type: number;
      readonly emoji?: string;
    }
  | { readonly do: 'edit'; readonly row: number; readonly text: string }
  | { readonly do: 'unsend'; readonly row: number }
  /** A message of an app, as a row of type 2 or 3; `session` is the row that began the game. */
  | {
      readonly do: 'app';
      readonly from: string;
      readonly text: string;
      readonly type: 2 | 3;
      readonly session?: number;
    }
  | { readonly do: 'poll'; readonly from: string }
  | { readonly do: 'add_option' | 'vote'; readonly poll: number; readonly from: string }
  /** A text and its link, as two rows. */
  | { readonly do: 'link'; readonly from: string; readonly text: string; readonly url: string }
  /** One of the two rows of a message to oneself. */
  | { readonly do: 'write_to_self'; readonly address: string; readonly text: string; readonly isIncoming: boolean }
  | { readonly do: 'read'; readonly row: number }
  | { readonly do: 'recover'; readonly row: number }
  | { readonly do: 'delete'; readonly row: number; readonly recoverable?: boolean }
  | { readonly do: 'schedule'; readonly to: string; readonly text: string; readonly inMs: number }
  | { readonly do: 'rename_group'; readonly chat: string; readonly name: string; readonly by: string }
  | {
      readonly do: 'group';
      readonly identifier: string;
      readonly participants: readonly string[];
      readonly name?: string;
    }
  /**
   * iCloud fills in old messages, an hour apart and the newest a day old. Those that chat.db has, `again`, come once more
   * under guids of their own: 1,958 such rows in 18 days, none with the guid of the original (claude-plugins, issue 5224).
   */
  | { readonly do: 'backfill'; readonly from: string; readonly count: number; readonly again?: readonly number[] }
  /**
   * The Mac wakes: what was written during the last `hours` comes at once, each row with its original date, and its chat
   * join so long after it; default 5 to 300 ms.
   */
  | {
      readonly do: 'wake';
      readonly from: string;
      readonly count: number;
      readonly hours: number;
      readonly joinAfterMs?: number;
    }
  | { readonly do: 'burst'; readonly from: string; readonly count: number }
  | { readonly do: 'replace' }
  | { readonly do: 'insert'; readonly table: string; readonly values: Readonly<Record<string, SqlValue>> };

/** How a run of osascript ends. */
export interface ScriptEnd {
  readonly exitCode: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** It never ends. */
  readonly hangs?: boolean;
  /** It dies of SIGABRT. */
  readonly crashes?: boolean;
}

const REACTIONS: Readonly<Record<string, number | undefined>> = {
  love: 2000,
  like: 2001,
  dislike: 2002,
  laugh: 2003,
  emphasize: 2004,
  question: 2005,
};
const EMOJI = 2006;
const REMOVED = 1000;

/** A reaction as chat.db numbers it in `associated_message_type`; what has no name is an emoji. */
export function reactionNamed(name: string, isRemoved: boolean): { readonly type: number; readonly emoji?: string } {
  const known = Object.hasOwn(REACTIONS, name) ? REACTIONS[name] : undefined;
  const type = (known ?? EMOJI) + (isRemoved ? REMOVED : 0);
  return known === undefined ? { type, emoji: name } : { type };
}
