// Facts about the service: who is signed in, and whether the service is a hub or a demo.

import { call, statusOf } from './api.js';

/** @import { StatusReport, FleetMac } from '../../domain/status.ts' */
/** @import { KeyRecord } from '../../domain/key.ts' */

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
/** A hub has no other keys. */
export const isOwner = () => key === undefined || key.caps === null;
/** @param {string} scope */
export const may = (scope) => isOwner() || (key?.scopes ?? []).some((one) => one === scope);
/** @returns {readonly FleetMac[]} */
export const macs = () => status?.macs ?? [];

/** Returns a command line for this service, for lines to copy. */
export const commandOf = (/** @type {string} */ rest) => `postern ${rest}${isDemo() ? ' --demo' : ''}`;

/** Returns the includes for each message. A hub knows no names of people. */
export const partsToInclude = () => (isHub() ? 'details' : 'details,contacts');

/**
 * Returns the Mac in a hub's id; undefined if the id names none.
 * @param {string} id
 */
export const macOf = (id) => (isHub() && id.includes('~') ? id.slice(0, id.indexOf('~')) : undefined);

/** Ids of keys that an answer lacked after they had been looked for. @type {Set<string>} */
const revoked = new Set();
/** @type {readonly KeyRecord[]} */
let keys = [];
/** @type {Promise<readonly KeyRecord[]> | undefined} */
let asked;

/**
 * Reads the limited keys, with one request for all who ask meanwhile.
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

/** Returns the limited keys, or the last known ones if the service refuses to tell. Reads them once. */
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
 * Returns the owner's names for the limited keys. Reads them again if one of these ids is not among them.
 * @param {Iterable<string>} [ids]
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
export async function namesOfKeys(ids = []) {
  const known = new Set([...(await knownKeys()).map(({ id }) => id), ...revoked, 'owner', 'tapback']);
  const missing = [...ids].filter((id) => !known.has(id));
  if (missing.length > 0 && isOwner()) {
    asked = undefined;
    const now = await knownKeys();
    if (asked !== undefined) for (const id of missing) if (!now.some((key) => key.id === id)) revoked.add(id);
  }
  return new Map(keys.map(({ id, name }) => [id, name]));
}

export function forgetKeys() {
  asked = undefined;
}

/**
 * Returns the name of a key, or of the owner. A key is called revoked only if a list of all keys lacks it.
 * @param {string} id
 * @param {ReadonlyMap<string, string>} names
 */
export const keyName = (id, names) =>
  id === 'owner'
    ? 'You'
    : id === 'tapback'
      ? 'You, by tapback'
      : (names.get(id) ?? `${revoked.has(id) ? 'revoked ' : ''}key ${id}`);
