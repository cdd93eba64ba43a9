import type { Caller } from '../../core/model/caller.ts';
import type { GuestBook } from '../../core/model/guests.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { CallerSender } from '../../core/model/ports/sending-ports.ts';
import type { OwnerSends } from '../../core/sender/owner-sends.ts';
import type { AccessParts, LimitedAccess } from './limited-access.ts';
import type { CallersApprovals, CallersRights } from './port.ts';
import type { Approvals } from './ports.ts';

/** Loads `LimitedAccess` on first use: a service without limited keys never needs it. */
export class LazyAccess implements GuestBook {
  readonly #parts: (selfAddress: string) => Promise<AccessParts>;
  #loading: Promise<LimitedAccess> | undefined;
  #loaded: LimitedAccess | undefined;
  /** The owner's address, if the conversation of the owner with themselves is needed. Set before `load`. */
  selfAddress: string;

  constructor(parts: (selfAddress: string) => Promise<AccessParts>, selfAddress: string) {
    this.#parts = parts;
    this.selfAddress = selfAddress;
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
    const [module, parts] = await Promise.all([import('./limited-access.ts'), this.#parts(this.selfAddress)]);
    this.#loaded = new module.LimitedAccess(parts);
    return this.#loaded;
  }

  find(key: string): Caller | undefined {
    return this.#loaded?.find(key);
  }

  callerOf(keyId: string): Caller | undefined {
    return this.#loaded?.callerOf(keyId);
  }

  heldBytes(): number {
    return this.#loaded?.heldBytes() ?? 0;
  }

  heldSends(): number | undefined {
    return this.#loaded?.heldCount();
  }

  async admitDue(entry: DueSend): Promise<() => void> {
    return entry.key_id === OWNER ? () => {} : (await this.load()).admitDue(entry);
  }

  noteDeferred(entry: DueSend, outcome: string): void {
    this.#loaded?.noteDeferred(entry, outcome);
  }

  /**
   * Returns the owner's sender. After the first limited key has been created, it also records sends in the audit log.
   */
  ownerSender(sends: OwnerSends): CallerSender {
    return {
      attachmentMistakes: (paths) => sends.attachmentMistakes(paths),
      send: async (request) => {
        const isPlain = this.#loaded === undefined && request.dryRun !== true;
        return isPlain ? sends.direct(request) : (await this.load()).owner.send(request);
      },
    };
  }

  /** Returns the held sends: all of them for the owner, with the right to decide. */
  approvals(): CallersApprovals {
    const only = (approvals: () => Promise<Approvals>): CallersApprovals => {
      const own: Approvals = {
        list: async (query) => (await approvals()).list(query),
        get: async (id, waitMs) => (await approvals()).get(id, waitMs),
        approve: async (id, shown) => (await approvals()).approve(id, shown),
        deny: async (id) => (await approvals()).deny(id),
        withdraw: async (id) => (await approvals()).withdraw(id),
        isNewContact: (approval) => this.#loaded?.approvals.isNewContact(approval),
      };
      return { own, ofKey: (keyId) => only(async () => (await this.load()).approvalsOf(keyId)) };
    };
    return only(async () => (await this.load()).approvals);
  }

  /** Returns the rights of the owner, and of each key. */
  rights(): CallersRights {
    const only = (keyId: string): CallersRights => ({
      own: async () => (await this.load()).keys.rightsOf(keyId),
      ofKey: only,
    });
    return only(OWNER);
  }
}
