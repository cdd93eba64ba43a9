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
  readonly #isElsewhere: AddressRule | undefined;

  /**
   * Connections fail with the code `private_address` or `own_address` unless the first or the second rule allows them.
   */
  constructor(isAllowed: AddressRule | undefined, isElsewhere?: AddressRule) {
    this.#isAllowed = isAllowed;
    this.#isElsewhere = isElsewhere;
  }

  /** The function for the `lookup` option of a connection. */
  readonly lookup: LookupFunction = (name, { all, ...options }, callback) => {
    this.#ask(name, options, (error, addresses) => {
      const [first] = addresses;
      // Checks the addresses that this connection will use. A separate lookup for the check could return other
      // addresses.
      const isRefused = (rule: AddressRule | undefined) =>
        addresses.some(({ address }) => rule?.(name, address) === false);
      if (isRefused(this.#isElsewhere)) callback(failure('own_address', "the service's own address"), '', 0);
      else if (isRefused(this.#isAllowed)) callback(failure('private_address', 'a private address'), '', 0);
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

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
