import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { delimiter, isAbsolute, join } from 'node:path';
import { ASSOCIATED_ROWS } from '../model/associated-rows.ts';
import { certificatesIn } from '../runtime/certificates.ts';
import type { Environment } from './environment.ts';
import { absolutePath, integer, optionalPath, PATH, path, type Setting } from './setting.ts';

const HOST_HEADER = /^(?:\[(?<ipv6>[^\]]+)\]|(?<name>[^:[\]]+))(?::(?<port>\d{1,5}))?$/;

/**
 * Every setting of the core (decision A4), in the order in which a new config.toml lists them. Key: the section, and
 * how the program calls the value.
 */
export const SETTINGS = {
  server: {
    host: {
      name: 'server.host',
      title: 'Address',
      about: 'The address to listen on. "0.0.0.0" accepts connections from other machines.',
      allowed: 'a host name or an IP address (IPv6 without brackets)',
      defaultValue: () => '127.0.0.1',
      read: (written) => (typeof written === 'string' && isHost(written) ? written : undefined),
      isInNewFile: true,
    },
    port: {
      ...integer(
        {
          name: 'server.port',
          title: 'Port',
          about: 'The TCP port of the HTTP server. 0 takes any free one; the log says which.',
        },
        0,
        65_535,
        3001,
      ),
      isInNewFile: true,
    },
    rateLimitPerMinute: integer(
      {
        name: 'server.rate_limit_per_minute',
        title: 'Requests a minute',
        about: 'Requests per minute over all clients. Excess requests get 429.',
      },
      1,
      1_000_000_000,
      60,
    ),
    allowedHosts: {
      name: 'server.allowed_hosts',
      title: 'Host names',
      about:
        'Names besides localhost that the Host header of a request may have, for a proxy or a tunnel. Used only while server.host is a loopback address.',
      allowed: 'a host name or an IP address, with or without a port',
      defaultValue: () => [],
      read: (written) => (typeof written === 'string' && isHostHeader(written) ? asInHeader(written) : undefined),
      isList: true,
    },
    allowedOrigins: {
      name: 'server.allowed_origins',
      title: 'Web pages',
      about: 'Origins of web pages that may call the API from a browser.',
      allowed: 'an origin as browsers send it, such as "https://home.example", without a trailing slash',
      defaultValue: () => [],
      read: (written) => (typeof written === 'string' && isOrigin(written) ? written : undefined),
      isList: true,
    },
  },
  auth: {
    apiKey: {
      name: 'auth.api_key',
      title: 'API key',
      about:
        'Clients send it in the header X-API-Key. Any string that a header can carry is allowed. A client that has it can read and send everything; only send.attachment_roots and webhooks.allowed_hosts limit it.',
      allowed:
        'text that a header can carry: not empty, no spaces around it, no control characters, at most 8192 bytes',
      defaultValue: () => undefined,
      read: (written) => (typeof written === 'string' && fitsHeader(written) ? written : undefined),
      isSecret: true,
      isInNewFile: true,
    },
  },
  backend: {
    chatDbPath: {
      ...path(
        {
          name: 'backend.chat_db_path',
          title: 'Messages database',
          about: 'The database of Messages. Postern only reads it.',
        },
        () => '$HOME/Library/Messages/chat.db',
      ),
      isInNewFile: true,
    },
    pollIntervalMs: {
      ...integer(
        {
          name: 'backend.poll_interval_ms',
          title: 'Check for messages every',
          about: 'How often to check for new messages, in milliseconds. Lower values need more CPU.',
        },
        10,
        60_000,
        1000,
      ),
      isInNewFile: true,
    },
    osascriptPath: path(
      {
        name: 'backend.osascript_path',
        title: 'Program that drives Messages',
        about: 'The program that drives Messages.',
      },
      osascript,
    ),
    associatedRows: {
      name: 'backend.associated_rows',
      title: 'Messages of apps',
      about:
        'How rows that refer to another message are shown. "reactions": all as reactions. "by_kind": those of apps (games, Check In, Apple Cash) as messages, votes as changes of their poll, the rest as reactions.',
      allowed: '"reactions" or "by_kind"',
      defaultValue: () => 'reactions',
      read: (written) => ASSOCIATED_ROWS.find((known) => known === written),
    },
  },
  send: {
    confirmMs: integer(
      {
        name: 'send.confirm_ms',
        title: 'Wait for confirmation',
        about: 'How long a send waits for its message to appear in the database, in milliseconds.',
      },
      0,
      60_000,
      3000,
    ),
    attachmentRoots: {
      name: 'send.attachment_roots',
      title: 'Folders for attachments',
      about:
        'Folders that attachments may be sent from. An empty list allows every file that Postern may read; with Full Disk Access that is nearly every file.',
      allowed: PATH,
      defaultValue: () => [],
      read: absolutePath,
      isList: true,
    },
  },
  webhooks: {
    allowedHosts: {
      name: 'webhooks.allowed_hosts',
      title: 'Webhook hosts',
      about:
        'Hosts that webhooks may post to: names, IP addresses, or "*.example.net" for all names below example.net. An empty list allows every host, including this machine and its network.',
      allowed: 'a host name, an IP address (IPv6 without brackets), or a name after "*."',
      defaultValue: () => [],
      read: webhookHost,
      isList: true,
    },
    caFile: {
      ...optionalPath({
        name: 'webhooks.ca_file',
        title: 'Certificates of receivers',
        about:
          'A PEM file with certificates that webhooks trust besides the usual ones: those of your own authority, or of a receiver that signed its own.',
      }),
      trouble(file: string) {
        const found = certificatesIn(file);
        return 'mistake' in found ? found.mistake : undefined;
      },
    },
  },
} satisfies Readonly<Record<string, Readonly<Record<string, Setting>>>>;

/**
 * Returns the default path of osascript. On macOS, always /usr/bin/osascript. Elsewhere, searches PATH for a
 * replacement first (decision A4).
 */
function osascript({ env, platform }: Environment): string {
  const folders = platform === 'darwin' ? [] : (env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, 'osascript')).find(isExecutable) ?? '/usr/bin/osascript';
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Reports whether the text is a valid host. Refuses a name whose last part is all digits, because it would be read as
 * an IPv4 address.
 */
export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const labels = text.split('.');
  const isName = labels.every((label) => /^[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/i.test(label));
  return text.length <= 253 && isName && !/^\d+$/.test(labels.at(-1) ?? '');
}

/** Returns a host, or a pattern such as `*.example.com`, as URLs spell it; undefined if the value is neither. */
function webhookHost(written: unknown): string | undefined {
  if (typeof written !== 'string') return undefined;
  const isPattern = written.startsWith('*.');
  const host = isPattern ? written.slice(2) : written;
  if (!isHost(host) || (isPattern && isIP(host) !== 0)) return undefined;
  return (isPattern ? '*.' : '') + new URL(`http://${isIP(host) === 6 ? `[${host}]` : host}`).hostname;
}

function isHostHeader(text: string): boolean {
  if (isHost(text)) return true;
  const { ipv6 = '', name = '', port } = HOST_HEADER.exec(text)?.groups ?? {};
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  return isPort && (isIP(ipv6) === 6 || isHost(name));
}

/** Spells a host as the Host header does: IPv6 in brackets, names in lower case. */
function asInHeader(host: string): string {
  return (isIP(host) === 6 ? `[${host}]` : host).toLowerCase();
}

export function isOrigin(text: string): boolean {
  if (/^https?:/.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*]+$/.test(text);
}

function fitsHeader(key: string): boolean {
  return key !== '' && key === key.trim() && !/\p{Cc}/u.test(key) && Buffer.byteLength(key) <= 8192;
}
