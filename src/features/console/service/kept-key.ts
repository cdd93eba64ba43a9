// Stores the key with which the console and the API reference make requests. The key is stored for this tab only,
// unless the user chooses to remember it on this device. For a Mac behind the service, another key is
// stored only if somebody signed in there with one.

import { placePath } from './place.ts';

const SHARED = 'postern-key';
const NAME = SHARED + (placePath && ` ${placePath}`);

const stored = (name: string): string => sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? '';

export const keptKey = (): string => stored(NAME) || stored(SHARED);

/** The place where the key is stored. */
const placeNow = (): string => (stored(NAME) === '' ? SHARED : NAME);

export const isRemembered = (): boolean => localStorage.getItem(placeNow()) !== null;

export function keepKey(key: string, isForDevice: boolean): void {
  const name = key === stored(SHARED) ? placeNow() : NAME;
  sessionStorage.setItem(name, key);
  if (isForDevice) localStorage.setItem(name, key);
  else localStorage.removeItem(name);
}

export function forgetKey(): void {
  const name = placeNow();
  sessionStorage.removeItem(name);
  localStorage.removeItem(name);
}

/** The one-time code or the key in an address. */
export interface AddressKey {
  readonly code?: string;
  readonly key?: string;
}

/**
 * Returns the code or key that the page's address contains: `{ code }` for `#code=…`, or `{ key }` for `#key=…`.
 * Returns undefined if there is neither. Removes the code or key from the address and the history at once. An address
 * with a code comes from `postern open`.
 */
export function takeFromAddress(): AddressKey | undefined {
  const [, name, encoded] = /^#(code|key)=(.+)$/.exec(location.hash) ?? [];
  if (name === undefined || encoded === undefined) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    return { [name]: decodeURIComponent(encoded) };
  } catch {
    return undefined;
  }
}
