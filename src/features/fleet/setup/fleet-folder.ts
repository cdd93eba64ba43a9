import { randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createUser } from '@nats-io/nkeys';
import { replaceFile } from '../../../core/config/config-file.ts';
import { AppError, errorCode } from '../../../core/model/errors.ts';
import type { RunCommand } from '../../../core/runtime/command.ts';
import { deriveMemberKey, newFleetKey } from '../protocol/envelope.ts';
import { type Membership, membershipLine, readMembership } from '../protocol/membership.ts';
import type { FleetSize } from '../protocol/subjects.ts';
import { type ServerAddress, serverAddress } from './addresses.ts';
import { makeCertificates } from './certificates.ts';
import { HUB_RIGHTS, macRights, SYSTEM_RIGHTS } from './rights.ts';
import { AUTHORITY_FILE, serverConfig, serverFiles, USERS_FILE, usersConfig } from './server-config.ts';

const RECORD = 'fleet.json';
const SECRETS = 'operator/secrets.json';
const AUTHORITY_KEY = 'operator/ca.key';
const HUB_LINE = 'hub.line';

/** The content of fleet.json. It has no secrets. */
interface FleetRecord {
  readonly version: 2;
  readonly servers: readonly string[];
  readonly keepHours: number;
  /** Public keys of the users of the broker. */
  readonly operator: string;
  readonly system: string;
  readonly hub: string;
  readonly macs: Readonly<Record<string, { readonly key: string; readonly added: string }>>;
}

/** The secrets that stay at the desk. `keys` are the fleet's content keys, the one in use first. */
interface Secrets {
  readonly operator: string;
  readonly system: string;
  readonly hub: string;
  readonly macs: Readonly<Record<string, string>>;
  readonly keys: readonly string[];
  readonly rotation: RotationStep;
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
  readonly hasCertificates: boolean;
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
    const { servers, serverVersion, keepHours, hasCertificates } = fleet;
    if (existsSync(join(path, RECORD))) {
      throw new AppError('fleet_exists', `${path} already holds the keys of a fleet. Nothing was changed.`, {
        hint: 'Name another folder with --dir.',
      });
    }
    for (const part of ['', 'operator', 'server', 'server/tls']) {
      mkdirSync(join(path, part), { recursive: true, mode: 0o700 });
    }
    if (hasCertificates && servers.some(({ isLoopback }) => !isLoopback)) await certify(path, servers, run);
    const [operator, system, hub] = [newKey(), newKey(), newKey()];
    const plan = { servers, serverVersion, routePassword: randomBytes(24).toString('hex') };
    for (const index of servers.keys()) {
      replaceFile(join(path, 'server', serverFiles(index, servers.length).config), serverConfig(plan, index));
    }
    const keys = { operator: operator.publicKey, system: system.publicKey, hub: hub.publicKey };
    const seeds = { operator: operator.seed, system: system.seed, hub: hub.seed };
    const urls = servers.map(({ url }) => url);
    const record: FleetRecord = { version: 2, servers: urls, keepHours, ...keys, macs: {} };
    const secrets: Secrets = { ...seeds, macs: {}, keys: [newFleetKey()], rotation: 'ended' };
    const folder = new FleetFolder(path, record, secrets);
    folder.#store(record, secrets);
    return folder;
  }

  /** Throws AppError `no_fleet` or `fleet_unusable`. */
  static open(path: string): FleetFolder {
    const record = readJson<FleetRecord>(path, RECORD);
    const secrets = readJson<Secrets>(path, SECRETS);
    if (record.version === 2 && record.servers.every((url) => serverAddress(url) !== undefined)) {
      return new FleetFolder(path, record, secrets);
    }
    throw unusable(join(path, RECORD));
  }

  get servers(): readonly string[] {
    return this.#record.servers;
  }

  get macs(): readonly string[] {
    return Object.keys(this.#record.macs);
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
    this.#store({ ...this.#record, keepHours }, this.#secrets);
  }

  /** Adds a member, unless it is one already. Returns its line, which is the same each time. */
  addMac(member: string, added: string): string {
    const known = this.#secrets.macs[member];
    if (known !== undefined) return this.#lineOf(member, known);
    const { seed, publicKey: key } = newKey();
    const macs = { ...this.#record.macs, [member]: { key, added } };
    this.#store({ ...this.#record, macs }, { ...this.#secrets, macs: { ...this.#secrets.macs, [member]: seed } });
    return this.#lineOf(member, seed);
  }

  removeMac(member: string): void {
    const { [member]: _key, ...macs } = this.#record.macs;
    const { [member]: _seed, ...seeds } = this.#secrets.macs;
    this.#store({ ...this.#record, macs }, { ...this.#secrets, macs: seeds });
  }

  /** Writes the server's users and the hub's line again. Returns whether the users have changed. */
  rewrite(): boolean {
    const file = join(this.path, 'server', USERS_FILE);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
    this.#store(this.#record, this.#secrets);
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

  /** Takes the next of the three steps to a new content key. Every machine must join again after each. */
  rotateKey(): RotationStep {
    const [first = '', second = ''] = this.#secrets.keys;
    const rotation = NEXT_STEP[this.#secrets.rotation];
    const keys = { added: [first, newFleetKey()], switched: [second, first], ended: [first] }[rotation];
    this.#store(this.#record, { ...this.#secrets, keys, rotation });
    return rotation;
  }

  #lineOf(member: string, seed: string): string {
    const keys = this.#secrets.keys.map((key) => deriveMemberKey(key, member));
    return membershipLine({ member, servers: this.servers, seed, ca: this.authority, keys });
  }

  /** Writes `users.conf` first, so that a revoked key is out of it even if Postern stops in between. */
  #store(record: FleetRecord, secrets: Secrets): void {
    const { operator, system, hub, macs, servers } = record;
    const users = [
      { name: 'operator', publicKey: operator },
      { name: 'hubs', publicKey: hub, rights: HUB_RIGHTS },
      ...Object.entries(macs).map(([name, { key }]) => ({ name, publicKey: key, rights: macRights(name) })),
    ];
    const systemUser = { name: 'system', publicKey: system, rights: SYSTEM_RIGHTS };
    replaceFile(join(this.path, 'server', USERS_FILE), usersConfig(users, systemUser));
    replaceFile(join(this.path, RECORD), `${JSON.stringify(record, null, 2)}\n`);
    replaceFile(join(this.path, SECRETS), `${JSON.stringify(secrets, null, 2)}\n`);
    const { keys } = secrets;
    const line = membershipLine({ member: undefined, servers, seed: secrets.hub, ca: this.authority, keys });
    replaceFile(this.hubLine, `${line}\n`);
    this.#record = record;
    this.#secrets = secrets;
  }
}

/** Returns a new key of a user of the broker. */
function newKey() {
  const pair = createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
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
