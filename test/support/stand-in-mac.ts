import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InstallOptions, Settings } from '../../installer/install.ts';
import { type Layout, layoutOf } from '../../installer/layout.ts';
import type { Machine } from '../../installer/machine.ts';
import type { Clock } from '../../src/domain/ports/host.ts';
import { commandRunner } from '../../src/mac/command.ts';
import { machFile } from './mach-o.ts';
import { freePort } from './service.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const STAND_INS = join(REPOSITORY, 'test', 'support', 'mac-stand-ins');
/** Waiting in the installer passes so many times faster, except that nothing passes faster than its programs run. */
const HURRY = 20;

export interface GatewayBehaviour {
  readonly permissions: Readonly<Record<string, 'granted' | 'denied' | 'unknown'>>;
  /** Versions that end at once. */
  readonly broken?: readonly string[];
  /** So many permission checks are answered 429. */
  readonly busyChecks?: number;
}

/** A Mac of stand-in programs, with a home folder, on this machine. `close` stops what launchd's stand-in started. */
export class StandInMac {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-mac-'));
  readonly home: string;
  readonly layout: Layout;
  readonly said: string[] = [];
  readonly port: number;

  private constructor(userName: string, port: number) {
    this.port = port;
    this.home = join(this.folder, userName);
    this.layout = layoutOf(this.home);
    mkdirSync(join(this.home, 'Library'), { recursive: true });
    this.behave({ permissions: { full_disk_access: 'granted', automation: 'granted' } });
  }

  static async start(userName = 'jane'): Promise<StandInMac> {
    return new StandInMac(userName, await freePort());
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      PATH: [STAND_INS, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      HOME: this.home,
      MAC_STAND_IN: this.folder,
    };
  }

  machine(changes: Partial<Machine> = {}): Machine {
    return {
      platform: 'darwin',
      arch: 'arm64',
      uid: 501,
      home: this.home,
      execPath: this.keep('own-node', machFile()),
      path: [STAND_INS, dirname(process.execPath), '/usr/bin', '/bin'],
      run: commandRunner(this.environment),
      clock: hurriedClock,
      say: (line) => void this.said.push(line),
      ...changes,
    };
  }

  /** A built project made of cardboard: real template, plugin and package.json, the gateway a stand-in. */
  project(version = '0.1.0'): string {
    const root = join(this.folder, `project-${version}`);
    const put = (path: string, content: string | Buffer): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    };
    put('package.json', JSON.stringify({ name: 'postern', version, type: 'module' }));
    put('package-lock.json', '{}');
    put('dist/main.js', readFileSync(join(STAND_INS, 'gateway.mjs')));
    put('dist/installer/proof.js', 'console.log("2 libraries load.");');
    for (const path of ['launchd/local.postern.agent.plist', 'installer/menubar/postern.30s.sh']) {
      put(path, readFileSync(join(REPOSITORY, path)));
    }
    return root;
  }

  options(changes: Partial<InstallOptions> = {}): InstallOptions {
    return {
      root: this.project(changes.version),
      version: '0.1.0',
      renewRuntime: false,
      permissionsLimitMs: 60_000,
      readSettings,
      ...changes,
    };
  }

  /** Puts the pinned package with this Node into the registry's stand-in; returns what to pin. */
  offerNode(node: Buffer): NonNullable<InstallOptions['packages']> {
    const folder = join(this.folder, 'offer', 'package', 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'node'), node);
    const archive = join(this.folder, 'package.tgz');
    spawnSync('tar', ['-czf', archive, '-C', join(this.folder, 'offer'), 'package']);
    const integrity = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    return { arm64: { name: 'node-for-tests', version: '22.23.2', integrity } };
  }

  behave(behaviour: GatewayBehaviour): void {
    this.keep('gateway.json', JSON.stringify({ port: this.port, ...behaviour }));
  }

  /** Leaves something for the stand-ins to find: a flag by its name, or content. Returns its path. */
  keep(name: string, content: string | Buffer = ''): string {
    const path = join(this.folder, name);
    writeFileSync(path, content, { mode: 0o755 });
    return path;
  }

  forget(name: string): void {
    rmSync(join(this.folder, name), { force: true });
  }

  /** Every call of a stand-in: its name and arguments. */
  get asked(): readonly (readonly string[])[] {
    const file = join(this.folder, 'asked');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t'));
  }

  /** The verbs launchctl was asked for, without the mere looking. */
  get launchctlVerbs(): readonly string[] {
    return this.asked
      .filter(([name, verb = '']) => name === 'launchctl' && !verb.startsWith('print'))
      .map(([, verb = '']) => verb);
  }

  async close(): Promise<void> {
    const jobs = join(this.folder, 'jobs');
    for (const file of existsSync(jobs) ? readdirSync(jobs) : []) {
      const job = JSON.parse(readFileSync(join(jobs, file), 'utf8')) as { supervisor: number; pid: number | null };
      for (const pid of [job.supervisor, job.pid]) {
        if (pid === null) continue;
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended by itself.
        }
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const hurriedClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * HURRY,
  after(ms, run) {
    const timer = setTimeout(run, ms / HURRY);
    return () => clearTimeout(timer);
  },
};

function readSettings(configDir: string): Settings {
  const file = join(configDir, 'config.toml');
  if (!existsSync(file)) return { kind: 'none' };
  const text = readFileSync(file, 'utf8');
  const port = /^port = (\d+)$/m.exec(text)?.[1];
  const warnings = text.includes('old_key') ? ['server.old_key is not known.'] : [];
  if (port === undefined) return { kind: 'unusable', mistakes: ['server.port must be a number from 1 to 65535.'] };
  return { kind: 'usable', address: { host: '127.0.0.1', port: Number(port), apiKey: 'cardboard' }, warnings };
}
