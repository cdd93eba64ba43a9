// Signing in through an address: with the one-time code of `postern open`, or with a key in the address.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { KeyRecord } from '../../../client/key-types.ts';
import { Button } from '../parts/parts.tsx';
import { call, currentKey, statusOf } from '../service/api.ts';
import { type AddressKey, isRemembered, keepKey, keptKey, takeFromAddress } from '../service/kept-key.ts';
import { reasonOf } from '../service/words.ts';

const WRONG = 'The key in the link is wrong. Your stored key was not changed.';

/** A sentence about the key in the address. With `key`, a button signs in with that key, which `name` names. */
interface Offered {
  readonly text: string;
  readonly name?: string;
  readonly key?: string;
}

const offered = signal<Offered | undefined>(undefined);

/**
 * Resolves with the key to sign in with: the owner's key if the address has a valid code, otherwise the stored key,
 * otherwise the key in the address. If there is a stored key, a different key in the address is only offered, because
 * any web page can link to such an address.
 */
export async function keyToEnter(): Promise<string> {
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
 */
export async function followAddress(address: AddressKey, enter: (key: string) => Promise<void>): Promise<void> {
  const given = await keyOf(address);
  if (given === undefined || given.key === currentKey()) return;
  if (keptKey() === '') await enter(given.key);
  else if (given.isOwners) signInWith(given.key);
  else await offer(given.key);
}

interface Given {
  readonly key: string;
  readonly isOwners: boolean;
}

/** Returns the key in an address, or the owner's key in exchange for a code. Shows the reason if a code is refused. */
async function keyOf(address: AddressKey | undefined): Promise<Given | undefined> {
  if (address?.key !== undefined) return { key: address.key, isOwners: false };
  if (address?.code === undefined) return undefined;
  try {
    return { key: await exchange(address.code), isOwners: true };
  } catch (error) {
    offered.value = { text: reasonOf(error) };
    return undefined;
  }
}

interface Exchanged {
  readonly key?: string;
  readonly detail?: string;
  readonly hint?: string;
}

async function exchange(code: string): Promise<string> {
  const response = await fetch(new URL('console/sign-in', location.href), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  }).catch(() => undefined);
  const answer = (await response?.json().catch(() => undefined)) as Exchanged | undefined;
  if (response?.ok && answer?.key !== undefined) return answer.key;
  const { detail = 'Postern does not answer. Is it running?', hint = '' } = answer ?? {};
  throw new Error(`${detail} ${hint}`.trim());
}

async function offer(key: string): Promise<void> {
  let name = 'the key in the link';
  try {
    name = `“${(await call<KeyRecord>('keys/me', { key })).name}”`;
  } catch (error) {
    // A service without limited keys does not know this path. The offer then does not name the key.
    if (statusOf(error) !== 404) {
      offered.value = { text: statusOf(error) === 401 ? WRONG : reasonOf(error) };
      return;
    }
  }
  offered.value = { text: `The key in the link is not the one that you use now. Sign in with ${name}?`, name, key };
}

function signInWith(key: string): void {
  keepKey(key, isRemembered());
  location.reload();
}

/** The banner about the key in the address. */
export function Offer(): VNode {
  const { text = '', name, key } = offered.value ?? {};
  return (
    <section id="offer" class="banner" aria-label="Signing in" hidden={offered.value === undefined}>
      <p id="offer-text" class="grow" role="alert">
        {text}
      </p>
      <Button kind="first" id="take-key" hidden={key === undefined} run={() => key !== undefined && signInWith(key)}>
        {name !== undefined && `Sign in with ${name}`}
      </Button>
      <Button
        id="dismiss-offer"
        run={() => {
          offered.value = undefined;
        }}
      >
        Close
      </Button>
    </section>
  );
}
