// Facts about the service: who is signed in, and whether the service is a hub or a demo.

import { call, statusOf } from './api.js';

/** @import { StatusReport, FleetMac } from '../../domain/status.ts' */
/** @import { KeyRecord } from '../../domain/key.ts' */

/** @type {StatusReport | undefined} */
let status;
/** @type {KeyRecord | undefined} */
let key;
/** @type {Promise<Map<string, string>> | undefined} */
let keyNames;

/** Reads the status and the rights of the key. Throws a Refusal. */
export async function readService() {
  const report = await call('status');
  const own = report.macs === undefined ? await call('keys/me') : undefined;
  status = report;
  key = own;
  keyNames = undefined;
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

/** Returns the owner's names for the limited keys. Read once, and again after `forgetKeyNames`. */
export function namesOfKeys() {
  keyNames ??= call('keys', { isByItself: true }).then(
    (/** @type {KeyRecord[]} */ keys) => new Map(keys.map(({ id, name }) => [id, name])),
    (error) => {
      keyNames = undefined;
      if (statusOf(error) === undefined) throw error;
      return new Map();
    },
  );
  return keyNames;
}

export function forgetKeyNames() {
  keyNames = undefined;
}

/**
 * Returns the name of a key, or of the owner.
 * @param {string} id
 * @param {ReadonlyMap<string, string>} names
 */
export const keyName = (id, names) =>
  id === 'owner' ? 'You' : id === 'tapback' ? 'You, by tapback' : (names.get(id) ?? `revoked key ${id}`);
