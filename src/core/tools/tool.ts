import * as z from 'zod';
import type { Caller } from '../model/caller.ts';
import type { Scope } from '../model/key.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { Counters } from '../runtime/counters.ts';
import type { Nonce } from './fence.ts';
import type { LocalTime } from './times.ts';

/** Returns the owner's name for an address; undefined if there is none or more than one. */
export type NameOf = (address: string) => string | undefined;

/** Everything that a tool can use during a call. The ports in `caller` show only what the calling key may read. */
export interface ToolContext {
  readonly caller: Caller;
  readonly clock: Clock;
  readonly time: LocalTime;
  readonly nonce: Nonce;
  readonly counters: Counters;
  readonly requestId: string;
  /** Returns the owner's names for people, as far as this caller may know them. */
  readonly names: () => Promise<NameOf>;
  /** Aborted when the client gives up, the key ends or the service stops. */
  readonly signals: readonly AbortSignal[];
  /** Notifies the client that the call is still running. Does nothing unless the client asked for progress. */
  readonly progress: (elapsedS: number, ofS: number) => void;
}

/**
 * The answer to a model. The text is sent both as `content` and as `structuredContent`, because each client shows its
 * model only one of them.
 */
export interface ToolAnswer {
  readonly text: string;
  /** Cursor of the next page, or offset of the next events; absent if the answer is complete. */
  readonly next?: string | undefined;
  /** The outcome of a send. */
  readonly state?: string;
  readonly approval_id?: string;
  readonly message_id?: string;
}

/** An answer that is a file. It has no `structuredContent`, because some clients would then ignore the file. */
export interface FileAnswer {
  readonly text: string;
  readonly file: { readonly uri: string; readonly mimeType: string; readonly bytes: Buffer };
}

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /**
   * The scope that a limited key needs. For a key without this scope, the tool does not exist. Undefined if every key
   * may use the tool.
   */
  readonly scope: Scope | undefined;
  /**
   * Returns false while the tool's feature is switched off. The tool then does not exist for clients. A tool without
   * this member always exists.
   */
  readonly isOffered?: (caller: Caller) => boolean;
  readonly input: Input;
  /** Absent if the answer is a file. */
  readonly output?: z.ZodObject;
  /** Maximum size of an answer in bytes, for a tool that returns more than text. */
  readonly mostBytes?: number;
  /** True if the tool sends something. Other tools only read. */
  readonly isSend?: true;
  run(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer | FileAnswer>;
}

/** Returns `made`. Exists so that the compiler checks `run` against the type of `input`. */
export function tool<Input extends z.ZodObject>(made: Tool<Input>): Tool {
  return made;
}

/** Output schema of a tool that answers with text. The schema is short, because every list of tools repeats it. */
export const textOutput = z.object({ text: z.string(), next: z.string().optional() });

export const conversationId = z.string().max(512).describe('id from conversations_list');

/** The id of a message, which models also copy with the brackets that lists put around it. */
export const messageId = z
  .string()
  .max(20)
  .transform((id) => /^\s*\[?(\d+)\]?\s*$/.exec(id)?.[1] ?? id);

/** Returns the schema of a limit on items. Values above `max` count as `max`. */
export function itemLimit(fallback: number, max: number) {
  return z
    .int()
    .min(1)
    .default(fallback)
    .transform((value) => Math.min(value, max))
    .describe(`at most ${max}`);
}
