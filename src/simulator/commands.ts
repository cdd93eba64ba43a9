import type { SqlValue } from '../runtime/sqlite.ts';

/** What may go wrong with the next sends; `times` of them, then Messages behaves again. */
export const SCENARIOS = [
  'no_such_chat', // −1728
  'not_permitted', // −1743
  'not_running', // −600, until `open` is called
  'connection_lost', // −609
  'timed_out', // −1712
  'refused', // −10000, any other number
  'hang', // never answers
  'slow', // answers after `delayMs`
  'error_22', // exit 0, then the row fails: not on iMessage
  'error_25', // exit 0, then the row fails: attachment
  'ghost', // exit 0, an empty row in no chat
  'nothing', // exit 0, no row at all
  'crash', // osascript dies of a signal
] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** One send, as the environment of osascript says it. */
export interface SendCommand {
  readonly do: 'send';
  readonly recipient: string;
  readonly chatIds: readonly string[];
  readonly service: string;
  readonly body?: string;
  readonly attachment?: string;
}

/** What can be asked of the simulated Messages: a line of JSON each, answered by a line. */
export type Command =
  | SendCommand
  | { readonly do: 'open' }
  | { readonly do: 'probe' }
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
      /** A file of so many bytes, with its row so long after the message. */
      readonly attachment?: { readonly name: string; readonly bytes: number; readonly afterMs?: number };
    }
  | {
      readonly do: 'react';
      readonly to: number;
      readonly from?: string;
      readonly type: number;
      readonly emoji?: string;
    }
  | { readonly do: 'edit'; readonly row: number; readonly text: string }
  | { readonly do: 'unsend'; readonly row: number }
  | { readonly do: 'delete'; readonly row: number; readonly recoverable?: boolean }
  | { readonly do: 'schedule'; readonly to: string; readonly text: string; readonly inMs: number }
  | { readonly do: 'rename_group'; readonly chat: string; readonly name: string; readonly by: string }
  | {
      readonly do: 'group';
      readonly identifier: string;
      readonly participants: readonly string[];
      readonly name?: string;
    }
  | { readonly do: 'backfill'; readonly from: string; readonly count: number }
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
