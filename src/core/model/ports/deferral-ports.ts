import type { Mistake } from '../errors.ts';
import type { KeptFile } from '../kept-file.ts';
import { problem } from '../problems.ts';
import type { StoredBytes } from '../upload.ts';
import type { SendRequest } from './sending-ports.ts';

/** A send that a feature has taken over, to make it later, if at all. */
export interface DeferredSend {
  readonly id: string;
  /** The body of the 202 answer. */
  readonly body: object;
  /** The path of its resource, relative to `/api/v1/`. */
  readonly path: string;
  /** The answer to a model: a sentence, and members such as an id. */
  readonly told: { readonly text: string; readonly state: string } & Readonly<Record<string, string>>;
  /** A sentence for a person, if the send may never be made. */
  readonly notice?: string;
  /** True if an earlier request with the same `Idempotency-Key` was taken over. */
  readonly replayed: boolean;
}

/** The key under which a send is deferred, and the owner's approval if the send needed one. */
export interface DeferredBy {
  readonly keyId: string;
  /** The id, readers and files of a send that the owner approved. The files were copied when the send was held. */
  readonly approved?: {
    readonly id: string;
    readonly members: readonly string[];
    readonly files: readonly KeptFile[];
  };
}

/** A deferred send whose time has come, as far as the rights of its key depend on it. */
export interface DueSend {
  readonly id: string;
  readonly key_id: string;
  readonly to: string;
  readonly text: string | null;
  /** The addresses that the owner approved as readers of the message. Null if the send needed no approval. */
  readonly members: readonly string[] | null;
  /** True if the owner approved the send, so that it is not held again at its time. */
  readonly isApproved: boolean;
  /** When Postern last began to send it, Unix milliseconds; null before that. */
  readonly begunMs: number | null;
}

/** Makes sends later. A feature offers one; without it, a send that asks for a later time is refused. */
export interface Deferral {
  /**
   * Returns the mistakes in the times of a send, none if it asks for no later time. Throws `send_later_unavailable`.
   */
  mistakes(request: SendRequest): readonly Mistake[];
  /**
   * Stores the send. Throws everything that an immediate send throws before it is queued, such as for an unknown
   * recipient or a missing file.
   */
  add(request: SendRequest, by: DeferredBy): Promise<DeferredSend>;
  /** Cancels the key's sends that have not begun. Returns the number of cancelled sends. */
  cancelAll(keyId: string): number;
  /** Reports whether a deferred send has ended and certainly was not sent. */
  wasNotSent(id: string): boolean;
  /** Returns the sizes of the files of sends that have not ended. */
  keptBytes(): readonly StoredBytes[];
  /** Returns the ids of the sends that have not ended. Their files must be kept. */
  openIds(): readonly string[];
}

/** Passes sends on to the feature that makes them later. Until there is one, refuses them. */
export class Deferrals implements Deferral {
  #feature: Deferral | undefined;

  /** Makes a feature take over the sends that ask for a later time. */
  takenBy(feature: Deferral): void {
    this.#feature = feature;
  }

  mistakes(request: SendRequest): readonly Mistake[] {
    if (request.sendAtMs === undefined) return [];
    if (this.#feature === undefined) throw problem('send_later_unavailable');
    return this.#feature.mistakes(request);
  }

  async add(request: SendRequest, by: DeferredBy): Promise<DeferredSend> {
    if (this.#feature === undefined) throw problem('send_later_unavailable');
    return this.#feature.add(request, by);
  }

  cancelAll(keyId: string): number {
    return this.#feature?.cancelAll(keyId) ?? 0;
  }

  wasNotSent(id: string): boolean {
    return this.#feature?.wasNotSent(id) ?? false;
  }

  keptBytes(): readonly StoredBytes[] {
    return this.#feature?.keptBytes() ?? [];
  }

  openIds(): readonly string[] {
    return this.#feature?.openIds() ?? [];
  }
}
