import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Callback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** Reports whether a connection to `host` may use `address`, one of the addresses that the name resolves to. */
export type AddressRule = (host: string, address: string) => boolean;

/**
 * Looks up the addresses of hosts as the system does: in the hosts file, DNS and Bonjour. A lookup cannot be cancelled
 * and occupies one of a limited number of threads (Node, `dns.lookup`), so callers that ask for the same name share one
 * lookup.
 */
export class HostLookup {
  readonly #asking = new Map<string, Callback[]>();
  readonly #isAllowed: AddressRule | undefined;

  constructor(isAllowed: AddressRule | undefined) {
    this.#isAllowed = isAllowed;
  }

  /** The function for the `lookup` option of a connection. */
  readonly lookup: LookupFunction = (name, { all, ...options }, callback) => {
    this.#ask(name, options, (error, addresses) => {
      const [first] = addresses;
      // Checks the addresses that this connection will use. A separate lookup for the check could return other
      // addresses.
      const isRefused = addresses.some(({ address }) => this.#isAllowed?.(name, address) === false);
      if (isRefused) callback(Object.assign(new Error('a private address'), { code: 'private_address' }), '', 0);
      else if (error !== null || first === undefined) callback(error, '', 0);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  #ask(name: string, options: Parameters<LookupFunction>[1], callback: Callback): void {
    const key = JSON.stringify([name, options]);
    const waiting = this.#asking.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const all = [callback];
    this.#asking.set(key, all);
    lookup(name, { ...options, all: true }, (error, addresses) => {
      this.#asking.delete(key);
      for (const answer of all) answer(error, addresses ?? []);
    });
  }
}
