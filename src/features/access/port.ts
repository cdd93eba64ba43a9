import type { ClientsOf } from '../../core/model/client-lines.ts';
import type { KeyRecord } from '../../core/model/key.ts';
import type { Port } from '../../core/model/port.ts';
import type { LimitedAccess } from './limited-access.ts';
import type { Approvals } from './ports.ts';
import type { SelfChat } from './self-chat.ts';

/** The keys of others, their sends that wait, and the record of what they did. Loaded once somebody has such a key. */
export interface OwnersAccess {
  /** Undefined before the first `load`. */
  readonly loaded: LimitedAccess | undefined;
  load(): Promise<LimitedAccess>;
  /** Returns the set-up lines for each client program that can use this key. */
  readonly clientsOf: (key: Parameters<ClientsOf>[0]) => ReturnType<ClientsOf>;
  /** Returns the owner's conversation with themselves, for a feature that needs the one with this address. */
  selfChatAt(address: string): Promise<SelfChat>;
}

/** Nobody but the owner decides about keys. */
export const ACCESS: Port<OwnersAccess> = { name: 'limited keys', narrow: () => undefined };

export interface CallersRights {
  /** Returns the rights of the caller's key. */
  own(): Promise<KeyRecord>;
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

export type { Keys } from './ports.ts';
export { accessProblem } from './problems.ts';
export type { SelfChatProof } from './self-chat-ports.ts';
