import { hostClassOf } from '../domain/local-network.ts';
import type { Config } from './config.ts';

/** Returns warnings about settings that defeat `oauth.issuer`, or that it defeats. */
export function issuerWarnings({ oauth: { issuer }, server }: Pick<Config, 'oauth' | 'server'>): readonly string[] {
  if (issuer === '') return [];
  const { hostname } = new URL(issuer);
  const warnings: string[] = [];
  if (server.allowedHosts.some((host) => host.replace(/:\d+$/, '') === hostname)) {
    warnings.push(
      `server.allowed_hosts names ${hostname}, where only /mcp and sign-in answer, because it is the host of oauth.issuer. Reach the rest by another name.`,
    );
  }
  const { host } = server;
  if (hostClassOf(`http://${host.includes(':') ? `[${host}]` : host}`) !== 'loopback') {
    warnings.push(
      'server.host accepts requests with any Host. A tunnel that passes on a Host other than that of oauth.issuer opens the whole API to anyone with a key. Listen on 127.0.0.1.',
    );
  }
  return warnings;
}
