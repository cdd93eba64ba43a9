import * as z from 'zod';
import type { Caller } from '../../../domain/caller.ts';
import type { KeyRecord, Scope } from '../../../domain/key.ts';
import type { Message } from '../../../domain/message.ts';
import type { Clock } from '../../../domain/ports/host.ts';
import type { Counters } from '../../../runtime/counters.ts';
import type { Nonce } from '../text/fence.ts';
import type { NameOf } from '../text/labels.ts';
import type { LocalTime } from '../text/times.ts';

/** The resources of a tool: the ports of the calling key, and nothing else. */
export interface ToolContext {
  readonly caller: Caller;
  readonly clock: Clock;
  readonly time: LocalTime;
  readonly nonce: Nonce;
  /** The rights of the calling key, as the owner set them. */
  readonly ownKey: () => Promise<KeyRecord>;
  readonly counters: Counters;
  /** Ids of those messages that macOS filed as junk. */
  readonly junkAmong: (messages: readonly Pick<Message, 'id'>[]) => ReadonlySet<string>;
  readonly requestId: string;
  /** The owner's names for people, as far as this caller may know them. */
  readonly names: () => Promise<NameOf>;
  /** Aborted when the client gives up, and when the key or the service ends. */
  readonly signals: readonly AbortSignal[];
  /** Throws if the key ended while the call waited: it then receives nothing more. */
  readonly assertKeyAlive: () => void;
  /** Tells a client that asked for progress that the call is still running. */
  readonly progress: (elapsedS: number, ofS: number) => void;
}

/** The answer to a model: the same text in `content` and in `structuredContent`, because clients pass on only one. */
export interface ToolAnswer {
  readonly text: string;
  /** The start of the next page, for the same tool. */
  readonly next?: string | undefined;
  /** The outcome of a send. */
  readonly state?: string;
  readonly approval_id?: string;
  readonly message_id?: string;
  readonly scheduled_id?: string;
}

/** A file instead of text: `structuredContent` would hide it from some clients. */
export interface FileAnswer {
  readonly text: string;
  readonly file: { readonly uri: string; readonly mimeType: string; readonly bytes: Buffer };
}

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The scope that a limited key needs, without which the tool does not exist; undefined if no scope is needed. */
  readonly scope: Scope | undefined;
  /** If absent, always. The tool does not exist while its feature is switched off. */
  readonly isOffered?: (caller: Caller) => boolean;
  readonly input: Input;
  /** Absent if the answer is a file. */
  readonly output?: z.ZodObject;
  /** Maximum bytes of an answer, if it is more than text. */
  readonly mostBytes?: number;
  /** Sends something; every other tool only reads. */
  readonly isSend?: true;
  run(input: z.output<Input>, context: ToolContext): Promise<ToolAnswer | FileAnswer>;
}

/** A `Tool` typed by its own input. */
export function tool<Input extends z.ZodObject>(made: Tool<Input>): Tool {
  return made;
}

/** Kept small, because it is part of every list of tools. */
export const textOutput = z.object({ text: z.string(), next: z.string().optional() });

export const conversationId = z.string().max(512).describe('id from conversations_list');

/** A limit on items: values above `max` count as `max`. */
export function itemLimit(fallback: number, max: number) {
  return z
    .int()
    .min(1)
    .default(fallback)
    .transform((value) => Math.min(value, max))
    .describe(`at most ${max}`);
}
