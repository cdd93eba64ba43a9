import type { KeyRecord } from '../../client/key-types.ts';
import type { ClientLines } from '../../core/model/client-lines.ts';
import type { Port } from '../../core/model/port.ts';
import type { Audit } from './audit.ts';
import type { KeyRing } from './key-ring.ts';
import type { Approvals } from './ports.ts';

/** The keys of others, and the record of what they did. */
export interface OwnersAccess {
  readonly keys: KeyRing;
  readonly audit: Audit;
  /** Reports whether a limited key has ever existed. */
  hasKeys(): boolean;
  /** Returns the set-up lines for each client program that can use this key. */
  readonly clientsOf: (key: Pick<KeyRecord, 'scopes'> & { readonly key: string }) => readonly ClientLines[];
}

/** Nobody but the owner decides about keys. */
export const ACCESS: Port<OwnersAccess> = { name: 'limited keys', narrow: () => undefined };

export interface CallersRights {
  /** Returns the rights of the caller's key. */
  own(): KeyRecord;
  /** Returns this for the key with this id. */
  ofKey(keyId: string): CallersRights;
}

/** Every key may read what it may do itself. */
export const RIGHTS: Port<CallersRights> = { name: 'the rights of keys', narrow: (all, { keyId }) => all.ofKey(keyId) };

export interface CallersApprovals {
  readonly own: Approvals;
  /** Returns the sends that wait, as far as the key with this id may see and decide about them. */
  ofKey(keyId: string): CallersApprovals;
}

/** A key sees the sends that it asked for, or all of them if it may decide about them. */
export const APPROVALS: Port<CallersApprovals> = { name: 'approvals', narrow: (all, { keyId }) => all.ofKey(keyId) };

export type { KeyRing } from './key-ring.ts';
export type { Approvals } from './ports.ts';
