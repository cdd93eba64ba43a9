import { randomBytes, X509Certificate } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, errorCode } from '../../../core/model/errors.ts';
import type { FleetContent } from '../../../core/model/fleet.ts';
import type { RunCommand } from '../../../core/runtime/command.ts';
import { Envelope, hubKeys, macKeyLine, newFleetKeyLine } from '../protocol/envelope.ts';
import type { Pair } from '../protocol/pair.ts';
import { type ServerAddress, serverAddress } from './addresses.ts';
import { makeCertificates } from './certificates.ts';
import { type Invitation, type MemberContent, newSecret } from './invitation.ts';
import { lines, MEMBER_FILES, newKey, privateFolder, writePrivate } from './member-files.ts';
import { HUB_RIGHTS, JOINER_RIGHTS, macRights, SYSTEM_RIGHTS } from './rights.ts';
import { AUTHORITY_FILE, serverConfig, serverFiles, USERS_FILE, usersConfig } from './server-config.ts';

const RECORD = 'fleet.json';
const AUTHORITY_KEY = 'operator/ca.key';

/** The content of fleet.json. It has no secrets. */
interface FleetRecord {
  readonly version: 1;
  readonly servers: readonly string[];
  readonly content: FleetContent;
  /** Public key of the operator. `system`, `hub` and `joiner` are the public keys of the other users. */
  readonly operator: string;
  readonly system: string;
  readonly hub: string;
  /** Undefined if an earlier version made the folder, and no Mac has been invited from it since. */
  readonly joiner?: string;
  readonly macs: Readonly<Record<string, { readonly key: string; readonly added: string }>>;
  readonly pairs?: readonly Pair[];
  /** The last step taken towards a new content key. */
  readonly rotation?: RotationStep;
}

/** `added`: the new key is known but unused; `switched`: it is in use; `ended`: the old key is gone. */
export type RotationStep = 'added' | 'switched' | 'ended';
const NEXT_STEP: Readonly<Record<RotationStep, RotationStep>> = {
  ended: 'added',
  added: 'switched',
  switched: 'ended',
};

export interface NewFleet {
  readonly servers: readonly ServerAddress[];
  readonly serverVersion: string;
  readonly content: FleetContent;
  readonly hasCertificates: boolean;
}

export interface CertificateEnd {
  /** Path relative to the servers' folder. */
  readonly file: string;
  /** Unix milliseconds. */
  readonly end: number;
}

/** The operator's folder, with the keys of a fleet and the configuration of its servers. */
export class FleetFolder {
  readonly path: string;
  #record: FleetRecord;

  private constructor(path: string, record: FleetRecord) {
    this.path = path;
    this.#record = record;
  }

  /** Creates the folder with its keys. Throws AppError `fleet_exists` or `certificates_not_made`. */
  static async create(path: string, fleet: NewFleet, run: RunCommand): Promise<FleetFolder> {
    const { servers, serverVersion, content, hasCertificates } = fleet;
    if (FleetFolder.isIn(path)) {
      throw new AppError('fleet_exists', `${path} already holds the keys of a fleet. Nothing was changed.`, {
        hint: 'Name another folder with --dir.',
      });
    }
    for (const part of ['', 'operator', 'hub', 'macs', 'server', 'server/tls']) privateFolder(join(path, part));
    if (hasCertificates && servers.some(({ isLoopback }) => !isLoopback)) await certify(path, servers, run);
    const record: FleetRecord = {
      version: 1,
      servers: servers.map(({ url }) => url),
      content,
      operator: newKey(join(path, 'operator/operator.key')),
      system: newKey(join(path, 'operator/system.key')),
      hub: newKey(join(path, 'hub', MEMBER_FILES.key)),
      joiner: newKey(join(path, 'operator/joiner.key')),
      macs: {},
    };
    writePrivate(join(path, 'hub', MEMBER_FILES.content), `${newFleetKeyLine()}\n`);
    const plan = { servers, serverVersion, routePassword: randomBytes(24).toString('hex') };
    for (const index of servers.keys()) {
      writePrivate(join(path, 'server', serverFiles(index, servers.length).config), serverConfig(plan, index));
    }
    const folder = new FleetFolder(path, record);
    folder.#store(record);
    return folder;
  }

  static isIn(path: string): boolean {
    return existsSync(join(path, RECORD));
  }

  /** Throws AppError `no_fleet` or `fleet_unusable`. */
  static open(path: string): FleetFolder {
    return new FleetFolder(path, readRecord(path));
  }

  get servers(): readonly string[] {
    return this.#record.servers;
  }

  get content(): FleetContent {
    return this.#record.content;
  }

  get macs(): readonly string[] {
    return Object.keys(this.#record.macs);
  }

  get pairs(): readonly Pair[] {
    return this.#record.pairs ?? [];
  }

  /** False if the servers have no certificates, or if a public authority signed the certificates. */
  get hasAuthority(): boolean {
    return existsSync(join(this.path, 'server', AUTHORITY_FILE));
  }

  /** The authority's certificate as PEM; undefined if `hasAuthority` is false. */
  get authority(): string | undefined {
    return this.hasAuthority ? readFileSync(join(this.path, 'server', AUTHORITY_FILE), 'utf8') : undefined;
  }

  /** The envelope that hubs use. */
  get envelope(): Envelope {
    return this.content === 'plain' ? new Envelope() : new Envelope(hubKeys(lines(this.#contentKeys())));
  }

  keyFile(whose: 'operator' | 'system' | 'joiner'): string {
    return join(this.path, 'operator', `${whose}.key`);
  }

  memberFolder(member: 'hub' | { readonly mac: string }): string {
    return member === 'hub' ? join(this.path, 'hub') : join(this.path, 'macs', member.mac);
  }

  /** Rewrites `users.conf` as this version of Postern writes it. Returns false if the file was already identical. */
  updateUsers(): boolean {
    const file = join(this.path, 'server', USERS_FILE);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    this.#store({ ...this.#record, joiner: this.#record.joiner ?? newKey(this.keyFile('joiner')) });
    return readFileSync(file, 'utf8') !== before;
  }

  /** Returns an invitation, with a new secret, for a machine that is to join the fleet as `mac`. */
  invitation(mac: string): Invitation {
    const seed = readFileSync(this.keyFile('joiner'), 'utf8').trim();
    return { mac, servers: this.servers, authority: this.authority, seed, secret: newSecret() };
  }

  /** Returns the fleet's `content` setting and the text of the `content.key` file of `mac`. */
  contentOf(mac: string): MemberContent {
    const keys = this.content === 'plain' ? [] : this.#contentKeys();
    return { content: this.content, contentKeys: macKeys(mac, keys) };
  }

  /** Admits the machine with the public key `key` as `mac`. Any machine that was `mac` before loses its access. */
  joinMac(mac: string, key: string, added: string): void {
    rmSync(this.memberFolder({ mac }), { recursive: true, force: true });
    this.#store({ ...this.#record, macs: { ...this.#record.macs, [mac]: { key, added } } });
  }

  /** Adds a Mac and makes its key. If the Mac is already in the fleet, replaces its key. */
  addMac(mac: string, added: string): void {
    const folder = this.memberFolder({ mac });
    privateFolder(folder);
    const key = newKey(join(folder, MEMBER_FILES.key));
    this.#writeContentKeys(mac, this.#contentKeys());
    if (this.hasAuthority) {
      copyFileSync(join(this.path, 'server', AUTHORITY_FILE), join(folder, MEMBER_FILES.authority));
    }
    this.#store({ ...this.#record, macs: { ...this.#record.macs, [mac]: { key, added } } });
  }

  /** Records a pair. Throws `mac_paired` if either Mac is already in a pair, or if both ids name one Mac. */
  addPair(pair: Pair): void {
    const { mac, standby } = pair;
    const taken = this.pairs.find((other) => [other.mac, other.standby].some((one) => one === mac || one === standby));
    if (taken !== undefined || mac === standby) {
      const reason =
        taken === undefined ? `Both ids are ${mac}` : `${taken.mac} and ${taken.standby} are a pair already`;
      throw new AppError('mac_paired', `${reason}. Nothing was changed.`, {
        hint: 'A pair ends when one of its Macs is revoked.',
      });
    }
    this.#store({ ...this.#record, pairs: [...this.pairs, pair] });
  }

  removeMac(mac: string): void {
    const { [mac]: _removed, ...macs } = this.#record.macs;
    const pairs = this.pairs.filter((pair) => pair.mac !== mac && pair.standby !== mac);
    this.#store({ ...this.#record, macs, pairs });
    rmSync(this.memberFolder({ mac }), { recursive: true, force: true });
  }

  /** Returns the certificates of the servers and the authority in this folder, and when each expires. */
  certificates(): readonly CertificateEnd[] {
    const files = this.servers.map((_, index) => serverFiles(index, this.servers.length).certificate);
    return [...files, AUTHORITY_FILE]
      .map((file) => ({ file, path: join(this.path, 'server', file) }))
      .filter(({ path }) => existsSync(path))
      .map(({ file, path }) => ({ file, end: Date.parse(new X509Certificate(readFileSync(path)).validTo) }));
  }

  /** Makes new certificates for the servers. Throws `no_authority` if the authority's key is not in this folder. */
  async renewCertificates(run: RunCommand): Promise<readonly CertificateEnd[]> {
    if (!existsSync(join(this.path, AUTHORITY_KEY))) {
      const message = `${this.path} has no ${AUTHORITY_KEY}, so the certificates of the servers were not made here. Renew them where they were made.`;
      throw new AppError('no_authority', message);
    }
    const servers = this.servers.flatMap((url) => serverAddress(url) ?? []);
    await certify(this.path, servers, run);
    return this.certificates();
  }

  /**
   * Takes the next of the three steps that replace the content key: add a new key, switch to it, drop the old one.
   * After each step, the operator must copy the new `content.key` files to every hub and Mac.
   */
  rotateContentKey(): RotationStep {
    const [first = '', second = ''] = this.#contentKeys();
    const step = NEXT_STEP[this.#record.rotation ?? 'ended'];
    const keys = { added: [first, newFleetKeyLine()], switched: [second, first], ended: [first] }[step];
    writePrivate(join(this.memberFolder('hub'), MEMBER_FILES.content), lines(keys));
    for (const mac of this.macs) this.#writeContentKeys(mac, keys);
    this.#store({ ...this.#record, rotation: step });
    return step;
  }

  #contentKeys(): readonly string[] {
    const text = readFileSync(join(this.memberFolder('hub'), MEMBER_FILES.content), 'utf8');
    return text.split('\n').filter((line) => line !== '');
  }

  #writeContentKeys(mac: string, keys: readonly string[]): void {
    const folder = this.memberFolder({ mac });
    privateFolder(folder);
    writePrivate(join(folder, MEMBER_FILES.content), macKeys(mac, keys));
  }

  /**
   * Writes `users.conf` before `fleet.json`, so that a revoked key is already out of `users.conf` if Postern stops
   * between the two.
   */
  #store(record: FleetRecord): void {
    const { operator, system, hub, joiner, macs } = record;
    const users = [
      { name: 'operator', publicKey: operator },
      { name: 'hubs', publicKey: hub, rights: HUB_RIGHTS },
      ...(joiner === undefined ? [] : [{ name: 'joiner', publicKey: joiner, rights: JOINER_RIGHTS }]),
      ...Object.entries(macs).map(([mac, { key }]) => ({ name: mac, publicKey: key, rights: macRights(mac) })),
    ];
    const systemUser = { name: 'system', publicKey: system, rights: SYSTEM_RIGHTS };
    writePrivate(join(this.path, 'server', USERS_FILE), usersConfig(users, systemUser));
    writePrivate(join(this.path, RECORD), `${JSON.stringify(record, null, 2)}\n`);
    this.#record = record;
  }
}

function macKeys(mac: string, fleetKeys: readonly string[]): string {
  return lines(fleetKeys.map((key) => macKeyLine(key, mac)));
}

async function certify(path: string, servers: readonly ServerAddress[], run: RunCommand): Promise<void> {
  const authority = { certificate: join(path, 'server', AUTHORITY_FILE), key: join(path, AUTHORITY_KEY) };
  const wanted = servers.map(({ host }, index) => {
    const { certificate, key } = serverFiles(index, servers.length);
    return { host, certificate: join(path, 'server', certificate), key: join(path, 'server', key) };
  });
  await makeCertificates(authority, wanted, path, run);
  copyFileSync(authority.certificate, join(path, 'hub', MEMBER_FILES.authority));
}

function readRecord(path: string): FleetRecord {
  const file = join(path, RECORD);
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as FleetRecord;
    if (record.version === 1 && record.servers.every((url) => serverAddress(url) !== undefined)) return record;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      throw new AppError('no_fleet', `There is no fleet in ${path}.`, {
        hint: 'Make one with "postern fleet init", or name another folder with --dir.',
      });
    }
    if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
  }
  throw new AppError('fleet_unusable', `${file} is not as "postern fleet" writes it.`, {
    hint: 'Restore it from a backup.',
  });
}
