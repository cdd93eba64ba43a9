// Signing in through an address: with the one-time code of `postern open`, or with a key in the address.

import { element } from '../parts/old/dom.js';
import { call, currentKey, statusOf } from '../service/api.ts';
import { isRemembered, keepKey, keptKey, takeFromAddress } from '../service/kept-key.ts';
import { reasonOf } from '../service/words.ts';

/** @typedef {{ readonly code?: string, readonly key?: string } | undefined} Address */

const WRONG = 'The key in the link is wrong. Your stored key was not changed.';

/**
 * Resolves with the key to sign in with: the owner's key if the address has a valid code, otherwise the stored key,
 * otherwise the key in the address. If there is a stored key, a different key in the address is only offered, because
 * any web page can link to such an address.
 */
export async function keyToEnter() {
  const kept = keptKey();
  const given = await keyOf(takeFromAddress());
  if (given === undefined || given.key === kept) return kept;
  if (given.isOwners || kept === '') return given.key;
  void offer(given.key);
  return kept;
}

/**
 * Handles a code or key in an address that was opened while the console is open. Signs in if a code was exchanged for
 * the owner's key, or if no key is stored. Otherwise only offers the key in the address.
 * @param {Address} address
 * @param {(key: string) => Promise<void>} enter
 */
export async function followAddress(address, enter) {
  const given = await keyOf(address);
  if (given === undefined || given.key === currentKey()) return;
  if (keptKey() === '') await enter(given.key);
  else if (given.isOwners) signInWith(given.key);
  else await offer(given.key);
}

/**
 * Returns the key in an address, or the owner's key in exchange for a code. Shows the reason if a code is refused.
 * @param {Address} address
 * @returns {Promise<{ readonly key: string, readonly isOwners: boolean } | undefined>}
 */
async function keyOf(address) {
  if (address?.key !== undefined) return { key: address.key, isOwners: false };
  if (address?.code === undefined) return undefined;
  try {
    const { key } = await exchange(address.code);
    return { key, isOwners: true };
  } catch (error) {
    showOffer(reasonOf(error));
    return undefined;
  }
}

/** @param {string} code */
async function exchange(code) {
  const response = await fetch(new URL('console/sign-in', location.href), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  }).catch(() => undefined);
  if (response?.ok) return response.json();
  const { detail = 'Postern does not answer. Is it running?', hint = '' } =
    (await response?.json().catch(() => {})) ?? {};
  throw new Error(`${detail} ${hint}`.trim());
}

/** @param {string} key */
async function offer(key) {
  let name = 'the key in the link';
  try {
    name = `“${(await call('keys/me', { key })).name}”`;
  } catch (error) {
    // A hub answers 501, because it has no limited keys. The offer then does not name the key.
    if (statusOf(error) !== 501) {
      showOffer(statusOf(error) === 401 ? WRONG : reasonOf(error));
      return;
    }
  }
  showOffer(`The key in the link is not the one that you use now. Sign in with ${name}?`);
  const take = element('take-key');
  take.textContent = `Sign in with ${name}`;
  take.hidden = false;
  take.onclick = () => signInWith(key);
}

/** @param {string} key */
function signInWith(key) {
  keepKey(key, isRemembered());
  location.reload();
}

/** @param {string} text */
function showOffer(text) {
  element('take-key').hidden = true;
  element('offer').hidden = false;
  element('offer-text').textContent = text;
}

export function offerDismissing() {
  element('dismiss-offer').addEventListener('click', () => {
    element('offer').hidden = true;
  });
}
