import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type ConnectionOptions, nkeyAuthenticator, type TlsOptions } from '@nats-io/nats-core';

export interface BrokerAccess {
  readonly servers: readonly string[];
  /** The seed of an nkey. */
  readonly seed: string;
  /** PEM of the authority that signs the servers' certificates; undefined for the system's authorities. */
  readonly ca: string | undefined;
  /** Called for each server reached, with the expiry of its certificate in Unix milliseconds. */
  readonly onCertificateEnd?: (end: number) => void;
}

/** Returns the options of the NATS client for these servers and this key. */
export function accessOptions({ servers, seed, ca, onCertificateEnd }: BrokerAccess): ConnectionOptions {
  const tls = tlsOptions(servers, ca, onCertificateEnd);
  return {
    servers: servers.map((server) => server.replace(/^(?:nats|tls):\/\//, '')),
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
    ...(tls !== undefined && { tls }),
  };
}

/** Returns the options for servers at `tls://` addresses; undefined if there are none. */
function tlsOptions(
  servers: readonly string[],
  ca: string | undefined,
  onEnd: (end: number) => void = () => {},
): TlsOptions | undefined {
  if (!servers.some((server) => server.startsWith('tls://'))) return undefined;
  const hosts = servers.map((server) => new URL(server).hostname.replace(/^\[|\]$/g, ''));
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  const options = {
    ...(ca !== undefined && { ca }),
    // For a server at an IP address, the NATS client passes no host to Node. The certificate is therefore accepted if
    // it is valid for any of the configured IP addresses.
    checkServerIdentity: (host: string, certificate: PeerCertificate): Error | undefined => {
      onEnd(Date.parse(certificate.valid_to));
      if (hosts.includes(host)) return checkServerIdentity(host, certificate);
      const errors = addresses.map((address) => checkServerIdentity(address, certificate));
      return errors.includes(undefined) ? undefined : (errors[0] ?? checkServerIdentity(host, certificate));
    },
  };
  return options;
}
