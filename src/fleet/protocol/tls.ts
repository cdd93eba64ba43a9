import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { TlsOptions } from '@nats-io/nats-core';

/** Options for servers at `tls://` addresses; undefined where all of them are on this machine, without TLS. */
export function tlsOptions(servers: readonly string[], ca: string | undefined): TlsOptions | undefined {
  if (!servers.some((server) => server.startsWith('tls://'))) return undefined;
  const hosts = servers.map((server) => new URL(server).hostname.replace(/^\[|\]$/g, ''));
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  const options = {
    ...(ca !== undefined && { ca }),
    // The client of NATS names no host to Node for an address; one of those that were configured must be meant.
    checkServerIdentity: (host: string, certificate: PeerCertificate): Error | undefined => {
      if (hosts.includes(host)) return checkServerIdentity(host, certificate);
      const errors = addresses.map((address) => checkServerIdentity(address, certificate));
      return errors.includes(undefined) ? undefined : (errors[0] ?? checkServerIdentity(host, certificate));
    },
  };
  return options;
}
