import type { KeyDetails } from '../../client/key-types.ts';
import { rightsAddress } from '../../core/model/address.ts';
import { type NameLookup, type NameSource, namedBy } from '../../core/model/ports/names-ports.ts';

/**
 * Returns the names that a key may see: those of addresses in its read or send list. Each person has only
 * the addresses on these lists.
 */
export function limitedNames(naming: NameSource, keyNow: () => KeyDetails): NameSource {
  let known: { readonly of: NameLookup; readonly key: KeyDetails; readonly lookup: NameLookup } | undefined;
  return {
    ready: () => naming.ready(),
    get names() {
      const [of, key] = [naming.names, keyNow()];
      if (known?.of !== of || known.key !== key) {
        const lookup = {
          nameOf: (address: string) => (isListedAddress(key, address) ? of.nameOf(address) : undefined),
        };
        known = { of, key, lookup };
      }
      return known.lookup;
    },
    async named(name) {
      const [found, key] = [await naming.named(name), keyNow()];
      return namedBy(found, (address) => isListedAddress(key, address));
    },
  };
}

/** Reports whether the key's list for reading or for sending names the address. */
export function isListedAddress({ read, send }: KeyDetails, address: string): boolean {
  if (read === '*' || send === '*') return true;
  const canonical = rightsAddress(address);
  return [...read, ...send].some((entry) => 'address' in entry && entry.address === canonical);
}
