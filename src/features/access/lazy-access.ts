import { OWNER } from '../../core/model/audit.ts';
import type { Approvals } from '../../core/model/ports/access-ports.ts';
import type { Deferral, DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { CallerSender, MessageSender } from '../../core/model/ports/sending-ports.ts';
import type { AccessParts, LimitedAccess } from './limited-access.ts';

/** Loads `LimitedAccess` on first use: a service without limited keys never needs it. */
export class LazyAccess {
  #parts: (() => Promise<AccessParts>) | undefined;
  #loading: Promise<LimitedAccess> | undefined;
  #loaded: LimitedAccess | undefined;
  /** The owner's address, if a feature needs the conversation of the owner with themselves. Set before `load`. */
  selfAddress = '';

  /** Sets what loads the parts. They name the owner's ports, which need the owner's sender from here. */
  loadedBy(parts: () => Promise<AccessParts>): void {
    this.#parts = parts;
  }

  /** Undefined before the first `load`. */
  get loaded(): LimitedAccess | undefined {
    return this.#loaded;
  }

  load(): Promise<LimitedAccess> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<LimitedAccess> {
    if (this.#parts === undefined) throw new Error('limited keys are not available yet');
    const [{ LimitedAccess }, parts] = await Promise.all([import('./limited-access.ts'), this.#parts()]);
    this.#loaded = new LimitedAccess(parts);
    return this.#loaded;
  }

  /** Returns the status member `held_sends`, or no member before the first `load`. */
  heldSends(): { readonly held_sends?: number } {
    return this.#loaded === undefined ? {} : { held_sends: this.#loaded.heldCount() };
  }

  /**
   * Returns the owner's sender. After the first limited key has been created, it also records sends in the audit log.
   */
  ownerSender(sender: MessageSender, deferral: Deferral): CallerSender {
    return {
      attachmentMistakes: (paths) => sender.attachmentMistakes(paths),
      send: async (request) => {
        if (this.#loaded !== undefined || request.dryRun === true) return (await this.load()).owner.send(request);
        if (request.sendAtMs === undefined) return { kind: 'sent', ...(await sender.send(request)) };
        const deferred = await deferral.add(request, { keyId: OWNER });
        return { kind: 'deferred', deferred, replayed: deferred.replayed };
      },
    };
  }

  /**
   * Returns the check that runs immediately before a deferred send. It throws if a limited key may no longer make that
   * send; the owner's sends always pass.
   */
  async admitDue(entry: DueSend): Promise<() => void> {
    return entry.key_id === OWNER ? () => {} : (await this.load()).admitDue(entry);
  }

  /** Returns the owner's view of the held sends: all of them, with the right to decide. */
  ownerApprovals(): Approvals {
    const approvals = async (): Promise<Approvals> => (await this.load()).approvals;
    return {
      list: async (query) => (await approvals()).list(query),
      get: async (id, waitMs) => (await approvals()).get(id, waitMs),
      approve: async (id, shown) => (await approvals()).approve(id, shown),
      deny: async (id) => (await approvals()).deny(id),
      withdraw: async (id) => (await approvals()).withdraw(id),
      isNewContact: (approval) => this.#loaded?.approvals.isNewContact(approval),
    };
  }
}
