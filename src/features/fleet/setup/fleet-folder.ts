import { randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUser, fromSeed } from '@nats-io/nkeys';
import { HOUR_MS } from '../../../core/model/durations.ts';
import { AppError, errorCode } from '../../../core/model/errors.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import type { RunCommand } from '../../../core/runtime/command.ts';
import { replaceFile } from '../../../core/runtime/whole-file.ts';
import { deriveMemberKey, newFleetKey } from '../protocol/envelope.ts';
import { type Membership, membershipLine, readMembership } from '../protocol/membership.ts';
import { type ServerAddress, serverAddress } from './addresses.ts';
import { makeCertificates } from './certificates.ts';
import { HUB_RIGHTS, macRights, SYSTEM_RIGHTS } from './rights.ts';
import { AUTHORITY_FILE, serverConfig, serverFiles, USERS_FILE, usersConfig } from './server-config.ts';
import type { FleetSize } from './streams.ts';

const RECORD = 'fleet.json';
const SECRETS = 'operator/secrets.json';
const AUTHORITY_KEY = 'operator/ca.key';
const HUB_LINE = 'hub.line';

/** The content of fleet.json. It has no secrets. */
interface FleetRecord {
  readonly version: 2;
  readonly servers: readonly string[];
  readonly keepHours: number;
}

/**
 * The secrets that stay at the desk: the seeds of the users of the broker, and the fleet's content keys, the one in use
 * first.
 */
interface Secrets {
  readonly operator: string;
  readonly system: string;
  readonly hub: string;
  readonly macs: Readonly<Record<string, string>>;
  readonly keys: readonly string[];
  readonly rotation: RotationStep;
  /** When the step `switched` was taken last, in Unix milliseconds. */
  readonly switchedMs?: number;
}

/** `added`: a new key is known but unused; `switched`: it is in use; `ended`: the old one is gone. */
export type RotationStep = 'added' | 'switched' | 'ended';
const NEXT_STEP: Readonly<Record<RotationStep, RotationStep>> = {
  ended: 'added',
  added: 'switched',
  switched: 'ended',
};

export interface NewFleet {
  readonly servers: readonly ServerAddress[];
  readonly serverVersion: string;
  readonly keepHours: number;
}

export interface CertificateEnd {
  /** Path relative to the servers' folder. */
  readonly file: string;
  /** Unix milliseconds. */
  readonly end: number;
}

/** The folder of the desk, with the keys of a fleet and the configuration of its servers. */
export class FleetFolder {
  readonly path: string;
  #record: FleetRecord;
  #secrets: Secrets;

  private constructor(path: string, record: FleetRecord, secrets: Secrets) {
    this.path = path;
    this.#record = record;
    this.#secrets = secrets;
  }

  /** Creates the folder with its keys. Throws AppError `fleet_exists` or `certificates_not_made`. */
  static async create(path: string, fleet: NewFleet, run: RunCommand): Promise<FleetFolder> {
    const { servers, serverVersion, keepHours } = fleet;
    if (existsSync(join(path, RECORD))) {
      throw new AppError('fleet_exists', `${path} already holds the keys of a fleet. Nothing was changed.`, {
        hint: 'Name another folder with --dir.',
      });
    }
    const needsTls = servers.some(({ isLoopback }) => !isLoopback);
    for (const part of ['operator', needsTls ? 'server/tls' : 'server']) {
      mkdirSync(join(path, part), { recursive: true, mode: 0o700 });
    }
    if (needsTls) await certify(path, servers, run);
    const plan = { servers, serverVersion, routePassword: randomBytes(24).toString('hex') };
    for (const index of servers.keys()) {
      replaceFile(join(path, 'server', serverFiles(index, servers.length).config), serverConfig(plan, index));
    }
    const record: FleetRecord = { version: 2, servers: servers.map(({ url }) => url), keepHours };
    const seeds = { operator: newSeed(), system: newSeed(), hub: newSeed(), macs: {} };
    const folder = new FleetFolder(path, record, { ...seeds, keys: [newFleetKey()], rotation: 'ended' });
    folder.#store({});
    return folder;
  }

  /** Throws AppError `no_fleet` or `fleet_unusable`. */
  static open(path: string): FleetFolder {
    const { version, servers, keepHours } = readJson<FleetRecord>(path, RECORD);
    const secrets = readJson<Secrets>(path, SECRETS);
    if (version === 2 && servers.every((url) => serverAddress(url) !== undefined)) {
      return new FleetFolder(path, { version, servers, keepHours }, secrets);
    }
    throw unusable(join(path, RECORD));
  }

  get servers(): readonly string[] {
    return this.#record.servers;
  }

  get macs(): readonly string[] {
    return Object.keys(this.#secrets.macs);
  }

  get size(): FleetSize {
    return { replicas: this.servers.length >= 3 ? 3 : 1, keepHours: this.#record.keepHours };
  }

  /** The authority's certificate as PEM; undefined if the servers have none, or a public authority signed theirs. */
  get authority(): string | undefined {
    const file = join(this.path, 'server', AUTHORITY_FILE);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  get hubLine(): string {
    return join(this.path, HUB_LINE);
  }

  /** The membership of a hub, which the desk has too. */
  get hub(): Membership {
    return readMembership(this.hubLine);
  }

  seedOf(whose: 'operator' | 'system'): string {
    return this.#secrets[whose];
  }

  keepEvents(keepHours: number): void {
    this.#record = { ...this.#record, keepHours };
  }

  /** Adds a member, unless it is one already. Returns its line, which is the same each time. */
  addMac(member: string): string {
    const { macs } = this.#secrets;
    const seed = macs[member] ?? newSeed();
    if (macs[member] === undefined) this.#store({ macs: { ...macs, [member]: seed } });
    const keys = this.#secrets.keys.map((key) => deriveMemberKey(key, member));
    return membershipLine({ member, servers: this.servers, seed, ca: this.authority, keys });
  }

  removeMac(member: string): void {
    const { [member]: _seed, ...macs } = this.#secrets.macs;
    this.#store({ macs });
  }

  /** Writes the server's users and the hub's line again. Returns whether the users have changed. */
  rewrite(): boolean {
    const file = join(this.path, 'server', USERS_FILE);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
    this.#store({});
    return readFileSync(file, 'utf8') !== before;
  }

  /** Returns the certificates in this folder, and when each ends. */
  certificates(): readonly CertificateEnd[] {
    const count = this.servers.length;
    const files = [AUTHORITY_FILE, ...this.servers.map((_, index) => serverFiles(index, count).certificate)];
    return files.flatMap((file) => {
      const path = join(this.path, 'server', file);
      return existsSync(path) ? [{ file, end: Date.parse(new X509Certificate(readFileSync(path)).validTo) }] : [];
    });
  }

  /** Makes new certificates for the servers. Throws AppError `no_authority` or `certificates_not_made`. */
  async renewCertificates(run: RunCommand): Promise<readonly CertificateEnd[]> {
    if (!existsSync(join(this.path, AUTHORITY_KEY))) {
      const message = `${this.path} has no ${AUTHORITY_KEY}, so the certificates of the servers were not made here.`;
      throw new AppError('no_authority', message, { hint: 'Renew them where they were made.' });
    }
    await certify(
      this.path,
      this.servers.flatMap((url) => serverAddress(url) ?? []),
      run,
    );
    return this.certificates();
  }

  /**
   * Takes the next of the three steps to a new content key. Every machine must join again after each. Throws AppError
   * `fleet_key_needed` if the stream may still hold what only the old key opens, unless `isForced`.
   */
  rotateKey(nowMs: number, isForced = false): RotationStep {
    const { rotation: before, switchedMs = 0 } = this.#secrets;
    const [first = '', second = ''] = this.#secrets.keys;
    const rotation = NEXT_STEP[before];
    const neededMs = switchedMs + this.#record.keepHours * HOUR_MS;
    if (rotation === 'ended' && nowMs < neededMs && !isForced) {
      const message = `Until ${isoSecond(neededMs)}, the stream holds events that only the old key opens.`;
      throw new AppError('fleet_key_needed', message, { hint: 'Wait, or lose them with --now.' });
    }
    const keys = { added: [first, newFleetKey()], switched: [second, first], ended: [first] }[rotation];
    this.#store({ keys, rotation, ...(rotation === 'switched' && { switchedMs: nowMs }) });
    return rotation;
  }

  /** Writes `users.conf` first, so that a revoked key is out of it even if Postern stops in between. */
  #store(changes: Partial<Secrets>): void {
    const { servers } = this.#record;
    this.#secrets = { ...this.#secrets, ...changes };
    const { operator, system, hub, macs, keys } = this.#secrets;
    const users = [
      { nkey: publicKey(operator) },
      { nkey: publicKey(hub), permissions: HUB_RIGHTS },
      ...Object.entries(macs).map(([name, seed]) => ({ nkey: publicKey(seed), permissions: macRights(name) })),
    ];
    const systemUser = { nkey: publicKey(system), permissions: SYSTEM_RIGHTS };
    replaceFile(join(this.path, 'server', USERS_FILE), usersConfig(users, systemUser));
    replaceFile(join(this.path, SECRETS), `${JSON.stringify(this.#secrets, null, 2)}\n`);
    const line = membershipLine({ member: undefined, servers, seed: hub, ca: this.authority, keys });
    replaceFile(this.hubLine, `${line}\n`);
    // Last: once it is there, no other fleet is made in this folder.
    replaceFile(join(this.path, RECORD), `${JSON.stringify(this.#record, null, 2)}\n`);
  }
}

/** Returns the seed of a new user of the broker. */
function newSeed(): string {
  return new TextDecoder().decode(createUser().getSeed());
}

function publicKey(seed: string): string {
  return fromSeed(new TextEncoder().encode(seed)).getPublicKey();
}

async function certify(path: string, servers: readonly ServerAddress[], run: RunCommand): Promise<void> {
  const authority = { certificate: join(path, 'server', AUTHORITY_FILE), key: join(path, AUTHORITY_KEY) };
  const wanted = servers.map(({ host }, index) => {
    const { certificate, key } = serverFiles(index, servers.length);
    return { host, certificate: join(path, 'server', certificate), key: join(path, 'server', key) };
  });
  await makeCertificates(authority, wanted, path, run);
}

function readJson<Read>(path: string, name: string): Read {
  const file = join(path, name);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Read;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      throw new AppError('no_fleet', `There is no fleet in ${path}.`, {
        hint: 'Make one with "postern fleet init", or name another folder with --dir.',
      });
    }
    if (error instanceof SyntaxError) throw unusable(file);
    throw error;
  }
}

function unusable(file: string): AppError {
  return new AppError('fleet_unusable', `${file} is not as this version of "postern fleet" writes it.`, {
    hint: 'Restore it from a backup. Set a fleet of an earlier version up again: see docs/fleet.md.',
  });
}
