// Facts about the service: who is signed in, and what the service can be asked.

import { signal } from '@preact/signals';
import type { KeyRecord } from '../../../client/key-types.ts';
import { type CommandWords, commandLine } from '../../../core/model/command-words.ts';
import type { Scope } from '../../../core/model/key.ts';
import type { HubMac, StatusReport } from '../../../core/model/status.ts';
import { type Asked, call, statusOf } from './api.ts';
import { isAble } from './capable.ts';

/** Undefined until somebody has signed in. A component that asks for a fact is drawn again with each new status. */
export const newestStatus = signal<StatusReport | undefined>(undefined);
let key: KeyRecord | undefined;

/** Reads the status and the rights of the key. Throws a Refusal. */
export async function readService(): Promise<StatusReport> {
  const report = await call<StatusReport>('status', { isKept: true });
  const hasKeys = report.operations?.includes('getOwnKey') ?? true;
  key = hasKeys ? await call<KeyRecord>('keys/me', { isKept: true }) : undefined;
  asked = undefined;
  newestStatus.value = report;
  return report;
}

export function knownStatus(): StatusReport {
  if (newestStatus.value === undefined) throw new Error('The status is not known yet.');
  return newestStatus.value;
}

/** Reports whether the service has an operation. */
export const serves = (operation: string): boolean => newestStatus.value?.operations?.includes(operation) ?? true;

export const isCapable = (name: string): boolean => isAble(name, newestStatus.value ?? {});

export const isDemo = (): boolean => newestStatus.value?.demo === true;
/** Reports whether the page has the owner's key. Always true for a service without limited keys. */
export const isOwner = (): boolean => key === undefined || key.caps === null;
/** Reports whether the page may make a request that only the owner may make. */
export const mayOwn = (operation: string): boolean => isOwner() && serves(operation);

/** Without this operation, a service has nothing that a key with the scope could do. */
const NEEDED: Readonly<Record<Scope, string>> = {
  read: 'listConversations',
  send: 'sendMessage',
  events: 'listEvents',
  webhooks: 'listWebhooks',
  approve: 'listApprovals',
};
export const may = (scope: Scope): boolean =>
  serves(NEEDED[scope]) && (isOwner() || (key?.scopes ?? []).includes(scope));
/** Reports whether the service is that of several Macs. */
export const isHub = (): boolean => newestStatus.value?.macs !== undefined;
export const macs = (): readonly HubMac[] => newestStatus.value?.macs ?? [];

/** Returns how the owner starts commands; undefined until the owner has been signed in on this page. */
export const ownersWords = (): CommandWords | undefined => newestStatus.value?.cli;

/** Returns the line that runs a command with this service. Only the owner learns how it is started. */
export const commandOf = (words: string): string =>
  commandLine(ownersWords() ?? { program: 'postern', options: isDemo() ? '--demo' : '' }, words);

/** The value of `include` for requests. */
export const ALL_PARTS = 'details,contacts';
/** Returns the value of `include` for events. A service without messages has no more than the event itself. */
export const partsOfEvents = (): string => (serves('getMessage') ? ALL_PARTS : '');

const KEPT_MS = 120_000;

/** Ids of keys that are no longer in the list of current keys, or that were never found in it. */
const revoked = new Set<string>();
/** Names of revoked keys, by id. */
const formerNames = new Map<string, string>();
let keys: readonly KeyRecord[] = [];
let asked: Promise<readonly KeyRecord[]> | undefined;
let askedAt = 0;

/** Requests the limited keys. `knownKeys` returns them for `KEPT_MS`, unless `forgetKeys` is called. */
export function readKeys(options?: Asked): Promise<readonly KeyRecord[]> {
  const own = call<readonly KeyRecord[]>('keys', { ...options, isKept: true }).then((now) => {
    for (const { id } of keys) revoked.add(id);
    for (const { id } of now) revoked.delete(id);
    keys = now;
    return now;
  });
  asked = own;
  askedAt = Date.now();
  own.catch(() => {
    if (asked === own) asked = undefined;
  });
  return own;
}

/**
 * Returns the limited keys. Requests them unless the answer to an earlier request is still valid. With a limited key,
 * or if the service has none or refuses the request, returns the last known keys.
 */
export async function knownKeys(options: Asked = { isByItself: true }): Promise<readonly KeyRecord[]> {
  if (!mayOwn('listKeys')) return keys;
  try {
    return await ((Date.now() - askedAt < KEPT_MS ? asked : undefined) ?? readKeys(options));
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return keys;
  }
}

/**
 * Returns the names of the limited keys. Key: the key's id. If one of `ids` is unknown, first requests all keys,
 * including the revoked ones.
 */
export async function namesOfKeys(ids: Iterable<string> = [], options?: Asked): Promise<ReadonlyMap<string, string>> {
  const known = new Set([...(await knownKeys(options)).map(({ id }) => id), ...revoked, 'owner', 'tapback']);
  const missing = [...ids].filter((id) => !known.has(id));
  if (missing.length > 0 && mayOwn('listKeys')) await readEndedKeys(missing);
  return new Map([...formerNames, ...keys.map(({ id, name }) => [id, name] as const)]);
}

/** Requests all keys, including the revoked ones, to learn the names of `ids`. */
async function readEndedKeys(ids: readonly string[]): Promise<void> {
  try {
    const all = await call<readonly KeyRecord[]>('keys?include=revoked', { isByItself: true });
    keys = all.filter(({ revoked_at: at }) => at === undefined);
    for (const { id, name, revoked_at: at } of all) if (at !== undefined) formerNames.set(id, `${name} (revoked)`);
    for (const id of ids) if (!keys.some((key) => key.id === id)) revoked.add(id);
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
  }
}

export function forgetKeys(): void {
  asked = undefined;
}

/**
 * Returns the name of a key, or "You" for the owner's. If `names` lacks the key, returns "key" and its id, preceded by
 * "revoked" if the key is in the set `revoked`.
 */
export const keyName = (id: string, names: ReadonlyMap<string, string>): string =>
  id === 'owner'
    ? 'You'
    : id === 'tapback'
      ? 'You, by tapback'
      : (names.get(id) ?? `${revoked.has(id) ? 'revoked ' : ''}key ${id}`);
