import { chatIdentity, rightsAddress } from '../domain/address.ts';

const KNOWN_SERVICE = /^(?:any|iMessage|SMS|RCS)$/i;

/** Reports whether both ids name the same group, whichever service they begin with. */
export function isSameGroup(one: string, other: string): boolean {
  const [a, b] = [chatIdentity(one), chatIdentity(other)];
  return a?.style === '+' && b?.style === '+' && a.identifier === b.identifier;
}

/** Parses a one-to-one chat id with a known service and a canonical address; undefined for any other text. */
export function personId(id: string): { readonly address: string; readonly id: string } | undefined {
  const parts = chatIdentity(id);
  if (parts === undefined || parts.style !== '-' || !KNOWN_SERVICE.test(parts.service)) return undefined;
  const address = rightsAddress(parts.identifier);
  return address === undefined ? undefined : { address, id: `${parts.service};-;${address}` };
}
