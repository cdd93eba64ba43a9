// Facts about the service: who is signed in, and whether the service is a hub or a demo.

import { call, statusOf } from './api.js';

/** @import { StatusReport, HubMac } from '../../core/model/status.ts' */
/** @import { KeyRecord } from '../../core/model/key.ts' */

/** @type {StatusReport | undefined} */
let status;
/** @type {KeyRecord | undefined} */
let key;

/** Reads the status and the rights of the key. Throws a Refusal. */
export async function readService() {
  const report = await call('status');
  const own = report.macs === undefined ? await call('keys/me') : undefined;
  status = report;
  key = own;
  asked = undefined;
  return report;
}

/** @param {StatusReport} report */
export function noteStatus(report) {
  status = report;
}

/** @returns {StatusReport} */
export function knownStatus() {
  if (status === undefined) throw new Error('The status is not known yet.');
  return status;
}

export const isHub = () => status?.macs !== undefined;
export const isDemo = () => status?.demo === true;
/** Reports whether the page has the owner's key. Always true at a hub, which has no limited keys. */
export const isOwner = () => key === undefined || key.caps === null;
/** @param {string} scope */
export const may = (scope) => isOwner() || (key?.scopes ?? []).some((one) => one === scope);
/** @returns {readonly HubMac[]} */
export const macs = () => status?.macs ?? [];

/** Returns a `postern` command line for this service, with `--demo` at a demo. */
export const commandOf = (/** @type {string} */ rest) => `postern ${rest}${isDemo() ? ' --demo' : ''}`;

/** Returns the value of `include` for requests. A hub knows no names of people, so it does not offer `contacts`. */
export const partsToInclude = () => (isHub() ? 'details' : 'details,contacts');

/**
 * Returns the name of the Mac in an id at a hub: the text before `~`. Returns undefined if the id contains no `~`, and
 * on a single Mac.
 * @param {string} id
 */
export const macOf = (id) => (isHub() && id.includes('~') ? id.slice(0, id.indexOf('~')) : undefined);

/**
 * Ids of keys that are no longer in the list of current keys, or that were never found in it.
 * @type {Set<string>}
 */
const revoked = new Set();
/** Names of revoked keys, by id. @type {Map<string, string>} */
const formerNames = new Map();
/** @type {readonly KeyRecord[]} */
let keys = [];
/** @type {Promise<readonly KeyRecord[]> | undefined} */
let asked;

/**
 * Requests the limited keys. `knownKeys` returns them until `forgetKeys` is called.
 * @param {import('./api.js').CallOptions} [options]
 * @returns {Promise<readonly KeyRecord[]>}
 */
export function readKeys(options) {
  const own = call('keys', options).then((now) => {
    for (const { id } of keys) revoked.add(id);
    for (const { id } of now) revoked.delete(id);
    keys = now;
    return now;
  });
  asked = own;
  own.catch(() => {
    if (asked === own) asked = undefined;
  });
  return own;
}

/**
 * Returns the limited keys. Requests them unless the answer to an earlier request is still valid. At a hub, with a
 * limited key, or if the request is refused, returns the last known keys.
 */
export async function knownKeys() {
  if (!isOwner() || isHub()) return keys;
  try {
    return await (asked ?? readKeys({ isByItself: true }));
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return keys;
  }
}

/**
 * Returns the names of the limited keys. Key: the key's id. If one of `ids` is unknown, first requests all keys,
 * including the revoked ones.
 * @param {Iterable<string>} [ids]
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
export async function namesOfKeys(ids = []) {
  const known = new Set([...(await knownKeys()).map(({ id }) => id), ...revoked, 'owner', 'tapback']);
  const missing = [...ids].filter((id) => !known.has(id));
  if (missing.length > 0 && isOwner() && !isHub()) await readEndedKeys(missing);
  return new Map([...formerNames, ...keys.map(({ id, name }) => /** @type {const} */ ([id, name]))]);
}

/** Requests all keys, including the revoked ones, to learn the names of `ids`. @param {readonly string[]} ids */
async function readEndedKeys(ids) {
  try {
    /** @type {readonly KeyRecord[]} */
    const all = await call('keys?include=revoked', { isByItself: true });
    keys = all.filter(({ revoked_at: at }) => at === undefined);
    for (const { id, name, revoked_at: at } of all) if (at !== undefined) formerNames.set(id, `${name} (revoked)`);
    for (const id of ids) if (!keys.some((key) => key.id === id)) revoked.add(id);
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
  }
}

export function forgetKeys() {
  asked = undefined;
}

/**
 * Returns the name of a key, or "You" for the owner's. If `names` lacks the key, returns "key" and its id, preceded by
 * "revoked" if the key is in the set `revoked`.
 * @param {string} id
 * @param {ReadonlyMap<string, string>} names
 */
export const keyName = (id, names) =>
  id === 'owner'
    ? 'You'
    : id === 'tapback'
      ? 'You, by tapback'
      : (names.get(id) ?? `${revoked.has(id) ? 'revoked ' : ''}key ${id}`);
