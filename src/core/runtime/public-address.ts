import { BlockList, isIP } from 'node:net';

/** Special-purpose ranges in IANA's registries that are not globally reachable. */
const SPECIAL_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
/**
 * The ranges within 2000::/3 that are not public: protocol assignments such as Teredo (2001::/23), documentation
 * (2001:db8::/32, 3fff::/20) and 6to4 (2002::/16). Nothing outside 2000::/3 is public.
 */
const SPECIAL_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = new BlockList();
for (const [address, bits] of SPECIAL_IPV4) special.addSubnet(address, bits, 'ipv4');
for (const [address, bits] of SPECIAL_IPV6) special.addSubnet(address, bits, 'ipv6');
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');

/**
 * Reports whether an IP address is on the public internet. False for addresses of this machine, of private networks and
 * of reserved ranges, and for text that is not an IP address.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  return family === 6 && unicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
