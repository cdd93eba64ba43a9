import { lookup } from 'node:dns/promises';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** The host and the port that a URL names. A literal IPv6 address has no brackets. */
interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface OwnListenersParts {
  /** Returns where this service listens now. Default: no addresses, until `watch` is called. */
  readonly addresses?: () => readonly AddressInfo[];
}

/** Tells whether a connection would reach this service itself. */
export class OwnListeners {
  /** Names whose tunnels lead to this service. */
  readonly #hosts = new Set<string>();
  #addresses: () => readonly AddressInfo[];

  constructor({ addresses = () => [] }: OwnListenersParts = {}) {
    this.#addresses = addresses;
  }

  /** Adds the name of a host that leads to this service through a tunnel. */
  addHost(host: string): void {
    this.#hosts.add(host);
  }

  /** Takes the addresses of the server, which is created later than what posts to others. */
  watch(addresses: () => readonly AddressInfo[]): void {
    this.#addresses = addresses;
  }

  /** Reports whether the service listens on this port at any address. */
  hasPort(port: number): boolean {
    return this.#addresses().some((one) => one.port === port);
  }

  /**
   * Reports whether this IP address and port reach the service. Every loopback and unspecified address does, in any
   * spelling, and this machine's other addresses if the service listens there.
   */
  isOwnAddress(address: string, port: number): boolean {
    const plain = address.split('%', 1)[0] ?? address;
    const family = isIP(plain);
    if (family === 0) return false;
    const own = new BlockList();
    for (const bound of this.#addresses().filter((one) => one.port === port)) {
      own.addSubnet('127.0.0.0', 8, 'ipv4');
      own.addSubnet('0.0.0.0', 8, 'ipv4');
      // `::`, `::1`, and the deprecated form that contains an IPv4 address.
      own.addSubnet('::', 96, 'ipv6');
      const reached = isUnspecified(bound.address) ? interfaceAddresses() : [bound.address];
      for (const one of reached) own.addAddress(one, isIP(one) === 6 ? 'ipv6' : 'ipv4');
    }
    // A BlockList also recognises an IPv4 address that is mapped into IPv6.
    return own.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  }

  /** Reports whether a URL with this host and port is the service's without a lookup. */
  isNamed({ host, port }: Endpoint): boolean {
    if (this.#hosts.has(host)) return true;
    return this.isOwnAddress(/^(?:.+\.)?localhost$/.test(host) ? '127.0.0.1' : host, port);
  }

  /**
   * Reports whether an endpoint reaches the service now. Looks names up, but only if the service listens on their port.
   */
  async isReachedBy(endpoint: Endpoint): Promise<boolean> {
    const { host, port } = endpoint;
    if (this.isNamed(endpoint)) return true;
    if (!this.hasPort(port) || isIP(host) !== 0) return false;
    // A name that cannot be looked up reaches nothing now. It is looked up again for each connection.
    const found = await lookup(host, { all: true }).catch(() => []);
    return found.some(({ address }) => this.isOwnAddress(address, port));
  }
}

function isUnspecified(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

function interfaceAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.map(({ address }) => address.split('%', 1)[0] ?? address);
}
