import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { AppError } from '../../../core/model/errors.ts';
import { Envelope, fleetKeys, memberKeys } from './envelope.ts';
import { isMember } from './subjects.ts';

const PREFIX = 'postern-fleet:';

/** All that a Mac or a hub needs to take part. It is a secret: anybody who has it is that member. */
export interface Membership {
  /** The member's name; undefined for a hub. */
  readonly member: string | undefined;
  /** `nats://` or `tls://` addresses of the broker, at least one. */
  readonly servers: readonly string[];
  /** The seed of the nkey with which the broker knows this member. */
  readonly seed: string;
  /** PEM of the authority that signs the servers' certificates; undefined for the system's authorities. */
  readonly ca: string | undefined;
  /** In base64, the newest first: the member's keys, or for a hub the fleet's, from which it derives all others. */
  readonly keys: readonly string[];
}

/** Returns the membership as the one line that `postern fleet add` prints. */
export function membershipLine({ member, servers, seed, ca, keys }: Membership): string {
  const json = JSON.stringify({ v: 1, member, servers, seed, ca, keys });
  return `${PREFIX}${Buffer.from(json).toString('base64url')}`;
}

/** Returns the `api_key` of a new hub: the same at every hub of the fleet, so that a client may ask any of them. */
export function hubApiKey({ seed }: Membership): string {
  return createHmac('sha256', seed).update('api_key of the hubs').digest('hex').slice(0, 32);
}

/** Throws AppError `fleet_line_unusable`, whose message shows nothing of the line. */
export function parseMembership(text: string): Membership {
  const line = text.trim();
  if (line === '') throw unusable('it is empty');
  if (!line.startsWith(PREFIX)) throw unusable(`it does not begin with ${PREFIX}`);
  if (/\s/.test(line)) throw unusable('it is more than one line, or has spaces in it');
  try {
    return checked(
      JSON.parse(Buffer.from(line.slice(PREFIX.length), 'base64url').toString('utf8')) as Partial<Membership>,
    );
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
    throw unusable(`it is cut off or damaged (${line.length} characters)`);
  }
}

/** Reads the line in a file. Throws AppError `fleet_file_unreadable` or `fleet_line_unusable`. */
export function readMembership(path: string): Membership {
  try {
    return parseMembership(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof AppError) throw error;
    const { message } = error as Error;
    throw new AppError('fleet_file_unreadable', `The file at fleet.file cannot be read (${message}).`, {
      cause: error,
    });
  }
}

/** Returns whether other accounts of this machine can read the file. */
export function isOpenToOthers(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
}

export function envelopeOf({ member, keys }: Pick<Membership, 'member' | 'keys'>): Envelope {
  return new Envelope(member === undefined ? fleetKeys(keys) : memberKeys(keys));
}

function checked(given: Partial<Membership & { readonly v: unknown }>): Membership {
  const { v, member, servers, seed, ca, keys } = given;
  const isFine =
    v === 1 &&
    (member === undefined || (typeof member === 'string' && isMember(member))) &&
    isTexts(servers) &&
    servers.every((server) => /^(?:nats|tls):\/\/[^/@?#\s]+$/.test(server) && URL.canParse(server)) &&
    typeof seed === 'string' &&
    /^SU[A-Z2-7]{56}$/.test(seed) &&
    (ca === undefined || typeof ca === 'string') &&
    isTexts(keys) &&
    keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key));
  if (!isFine) throw unusable('it was made by another version of Postern, or is incomplete');
  return { member, servers, seed, ca, keys };
}

function isTexts(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === 'string');
}

function unusable(reason: string): AppError {
  return new AppError('fleet_line_unusable', `The line of the fleet cannot be used: ${reason}.`, {
    hint: 'Copy it whole from where the fleet was set up: "postern fleet add" prints it for a Mac, hub.line has it for hubs.',
  });
}
