// Signing in by an address: with the one-time code of `postern open`, or with a key in the address.

import { call, currentKey } from './api.js';
import { element, say } from './elements.js';
import { isRemembered, keepKey, keptKey, takeFromAddress } from './kept-key.js';

const WRONG = 'The key in the address is wrong. Nothing was changed.';

/**
 * Resolves with the key to sign in with: the address's if it may be taken at once, else the kept one. A key that
 * differs from the kept one is only offered, because any web page can lead to such an address.
 */
export async function keyToEnter() {
  const kept = keptKey();
  const given = await keyOf(takeFromAddress());
  if (given === undefined || given.key === kept) return kept;
  if (given.isOwners || kept === '') return given.key;
  void offer(given.key);
  return kept;
}

/** Follows an address while the console is open: another key starts over with it. */
export async function followAddress(address, enter) {
  const given = await keyOf(address);
  if (given === undefined || given.key === currentKey()) return;
  if (keptKey() === '') await enter(given.key);
  else if (given.isOwners) signInWith(given.key);
  else await offer(given.key);
}

/** Exchanges a code for the owner's key. An invalid one is only mentioned. */
async function keyOf(address) {
  if (address?.code === undefined) return address;
  try {
    const { key } = await exchange(address.code);
    return { key, isOwners: true };
  } catch (error) {
    tell(error.message);
    return undefined;
  }
}

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

async function offer(key) {
  let name = 'it';
  try {
    name = `“${(await call('keys/me', { key })).name}”`;
  } catch (error) {
    // A hub has no limited keys, so no key there has a name.
    if (error.status !== 501) {
      tell(error.status === 401 ? WRONG : error.message);
      return;
    }
  }
  tell(`The address you followed holds another key than the one you use. Sign in with ${name}?`);
  const take = element('take-key');
  take.textContent = `Sign in with ${name}`;
  take.hidden = false;
  take.onclick = () => signInWith(key);
}

function signInWith(key) {
  keepKey(key, isRemembered());
  location.reload();
}

function tell(text) {
  element('take-key').hidden = true;
  element('offer').hidden = false;
  say('offer-text', text);
}

export function offerDismissing() {
  element('dismiss-offer').addEventListener('click', () => {
    element('offer').hidden = true;
  });
}
