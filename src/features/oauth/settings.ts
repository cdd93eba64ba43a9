import type { Config } from '../../core/config/config.ts';
import type { Setting } from '../../core/config/setting.ts';
import { isOrigin } from '../../core/config/settings.ts';
import { hostClassOf } from '../../core/model/local-network.ts';

/** The section [oauth] of config.toml. */
export const OAUTH_SETTINGS = {
  issuer: {
    name: 'oauth.issuer',
    title: 'Address on the internet',
    about:
      'The https address under which a tunnel makes /mcp reachable for hosted agents, such as "https://messages.example". Agents sign in there, and you decide on a web page what each of them may do. Empty: off.',
    allowed: 'an https origin of a host other than this machine, without a path or a trailing slash, or empty',
    defaultValue: () => '',
    read: (written) => (written === '' || isSecureOrigin(written) ? String(written) : undefined),
  } satisfies Setting<string>,
};

function isSecureOrigin(written: unknown): boolean {
  const isOther = typeof written === 'string' && hostClassOf(written) !== 'loopback';
  return isOther && written.startsWith('https:') && isOrigin(written);
}

/**
 * Returns warnings about settings that conflict with `oauth.issuer`: the issuer's host in `server.allowed_hosts`, and a
 * `server.host` with which Postern accepts any Host header.
 */
export function issuerWarnings(issuer: string, { server }: Pick<Config, 'server'>): readonly string[] {
  const { hostname } = new URL(issuer);
  const warnings: string[] = [];
  if (server.allowedHosts.some((host) => host.replace(/:\d+$/, '') === hostname)) {
    warnings.push(
      `server.allowed_hosts contains ${hostname}, the host of oauth.issuer. Only /mcp and sign-in answer there; use another name for the rest of the API.`,
    );
  }
  const { host } = server;
  if (hostClassOf(`http://${host.includes(':') ? `[${host}]` : host}`) !== 'loopback') {
    warnings.push(
      'server.host is not a loopback address, so Postern accepts any Host header. But only that header shows that a request came through the tunnel of oauth.issuer: if the tunnel changes it, everybody with a key can reach the whole API from the internet. Set server.host to 127.0.0.1.',
    );
  }
  return warnings;
}
