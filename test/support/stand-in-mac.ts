import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'plist';
import { type Layout, layoutOf } from '../../installer/install-layout.ts';
import type { Machine } from '../../installer/machine.ts';
import type { InstallOptions, Settings } from '../../installer/options.ts';
import { SHARED_FILES } from '../../installer/shell-files.ts';
import type { Diagnostics } from '../../src/client/diagnostics-types.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import type { PermissionReason } from '../../src/core/model/ports/permissions-ports.ts';
import { type CommandResult, commandRunner, type RunCommand } from '../../src/core/runtime/command.ts';
import { switchOff } from './mac-stand-ins/launchctl.mjs';
import { isNode, onThisMac } from './mac-stand-ins/on-this-mac.mjs';
import { isStandIn, runStandIn } from './mac-stand-ins/programs.mjs';
import { machFile } from './mach-o.ts';
import { freePort } from './service.ts';
import { whenFileEnds } from './temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const STAND_INS = join(REPOSITORY, 'test', 'support', 'mac-stand-ins');
const scripts = readdirSync(join(REPOSITORY, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.applescript'),
);
/** The installer's waiting passes this many times faster. */
const HURRY = 100;

export interface GatewayBehaviour {
  readonly permissions: Readonly<Record<string, 'granted' | 'denied' | 'unknown'>>;
  readonly details?: Readonly<Record<string, string>>;
  readonly reasons?: Readonly<Record<string, PermissionReason>>;
  /** What the user does when macOS asks about Messages; `none`: it never asks. Replaces `permissions`. */
  readonly dialog?: 'allow' | 'refuse' | 'none';
  /** Versions that exit at once. */
  readonly broken?: readonly string[];
  /** Versions that change state.db when they start, so that older ones cannot read it. */
  readonly migrates?: readonly string[];
  /** What the agent reports about chat.db; 404 by default. */
  readonly diagnostics?: Partial<Diagnostics>;
  /** Number of permission checks that are answered with 429. */
  readonly busyChecks?: number;
}

interface Job {
  readonly supervisor: number | null;
  readonly pid: number | null;
  readonly isLeaving: boolean;
  readonly isGone: boolean;
}

/** A Mac of stand-in programs with a home folder, on this machine. `close` stops what launchd's stand-in started. */
export class StandInMac {
  readonly folder = mkdtempSync(join(tmpdir(), 'postern-mac-'));
  readonly home: string;
  readonly layout: Layout;
  readonly said: string[] = [];
  readonly port: number;
  /** The state of the Mac's first account, which holds what all accounts share. */
  readonly #shared: string;
  #time = 0;

  /** The seed decides which of its possible answers each program of macOS gives. */
  private constructor(userName: string, port: number, seed: number, shared?: string) {
    this.port = port;
    this.#shared = shared ?? this.folder;
    this.keep('draws.json', JSON.stringify({ seed, count: 0 }));
    this.home = join(this.#shared, userName);
    this.layout = layoutOf(this.home);
    mkdirSync(join(this.home, 'Library'), { recursive: true });
    this.#placeMessages();
    this.behave({ permissions: { full_disk_access: 'granted', automation: 'granted' } });
  }

  static async start(userName = 'jane', seed = 1): Promise<StandInMac> {
    const mac = new StandInMac(userName, await freePort(), seed);
    whenFileEnds(() => existsSync(mac.folder) && mac.close());
    return mac;
  }

  /** Adds another account to this Mac. It has its own login session, and shares what belongs to the whole Mac. */
  async otherAccount(userName: string): Promise<StandInMac> {
    const mac = new StandInMac(userName, await freePort(), 1, this.folder);
    whenFileEnds(() => existsSync(mac.folder) && mac.close());
    return mac;
  }

  get messagesApp(): string {
    return join(this.folder, 'System', 'Applications', 'Messages.app');
  }

  /**
   * Creates Messages with part of its dictionary on 26.5.2 (gaelic-ghost/spelunking), in the file that its Info.plist
   * names. There is no `sdef` here: with only the Command Line Tools it is a stub which says that it requires Xcode.
   */
  #placeMessages(): void {
    const contents = join(this.messagesApp, 'Contents');
    mkdirSync(join(contents, 'Resources'), { recursive: true });
    const element = (kind: string, names: readonly string[]): string[] =>
      names.map((name) => `<${kind} name="${name}" code="ichX">`);
    const dictionary = [
      '<?xml version="1.0" encoding="UTF-8"?>',
      ...element('command', ['send', 'login', 'logout']),
      ...element('class', ['application', 'participant', 'account', 'chat', 'file transfer']),
      ...element('property', ['id', 'name', 'handle', 'enabled', 'service type', 'description']),
      ...element('enumerator', ['iMessage', 'SMS', 'RCS']),
    ];
    writeFileSync(
      join(contents, 'Info.plist'),
      build({ CFBundleIdentifier: 'com.apple.MobileSMS', OSAScriptingDefinition: 'Messages.sdef' }),
    );
    writeFileSync(join(contents, 'Resources', 'Messages.sdef'), dictionary.join('\n'));
  }

  /** Removes a word from Messages' dictionary. */
  forgetWord(word: string): void {
    this.keep('unknown-words', word);
    const file = join(this.messagesApp, 'Contents', 'Resources', 'Messages.sdef');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(new RegExp(`^.*name="${word}".*\n`, 'gm'), ''));
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      PATH: [STAND_INS, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      HOME: this.home,
      TMPDIR: this.folder,
      MAC_STAND_IN: this.folder,
      MAC_STAND_IN_SHARED: this.#shared,
    };
  }

  machine(changes: Partial<Machine> = {}): Machine {
    return {
      platform: 'darwin',
      arch: 'arm64',
      uid: 501,
      home: this.home,
      usersFolder: this.#shared,
      temporaryFolder: this.folder,
      execPath: this.keep('own-node', machFile()),
      path: [STAND_INS, dirname(process.execPath), '/usr/bin', '/bin'],
      prefixes: [join(this.folder, 'homebrew'), join(this.home, '.local')],
      run: this.run,
      clock: this.clock,
      stdout: (line) => void this.said.push(line),
      ...changes,
    };
  }

  readonly run: RunCommand = (command, args, options = {}) => {
    if (isStandIn(command)) return runStandIn(command, args, this.environment);
    const run = (): Promise<CommandResult> => commandRunner(this.environment)(onThisMac(command), args, options);
    return args[0] === '-p' && isNode(command) ? remembered(args.join(' '), run) : run();
  };

  /** Time passes only while the installer waits, and stops while a process of the agent starts or stops. */
  readonly clock: Clock = {
    now: () => Date.now(),
    monotonic: () => this.#time,
    after: (ms, run) => {
      const look = (): void => {
        if (this.#isAgentChanging()) {
          timer = setTimeout(look, 10);
          return;
        }
        this.#time += ms;
        run();
      };
      let timer = setTimeout(look, ms / HURRY);
      return () => clearTimeout(timer);
    },
  };

  get #jobs(): readonly Job[] {
    const folder = join(this.folder, 'jobs');
    const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
    return files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Job);
  }

  #isAgentChanging(): boolean {
    const ready = Number(this.read('ready'));
    return this.#jobs.some(({ pid, isLeaving, isGone }) => !isGone && (isLeaving || (pid !== null && pid !== ready)));
  }

  /** Creates a built project: real template, plugin, scripts and package.json, but a small gateway. */
  project(version = '0.1.0'): string {
    const root = join(this.folder, `project-${version}`);
    const put = (path: string, content: string | Buffer): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    };
    put('package.json', JSON.stringify({ name: 'postern', version, type: 'module' }));
    put('package-lock.json', '{}');
    put('.npmrc', 'fund=false\n');
    put('dist/main.js', readFileSync(join(STAND_INS, 'gateway.mjs')));
    for (const path of Object.values(SHARED_FILES)) put(path, '');
    put('dist/installer/proof.js', 'console.log("2 libraries load.");');
    for (const path of scripts) {
      put(`dist/src/${path}`, readFileSync(join(REPOSITORY, 'src', path)));
    }
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
      confirm: () => Promise.resolve(false),
      readSettings: (configDir) => readSettings(configDir, this.port),
      ...changes,
    };
  }

  /** Puts the pinned package with this Node into the stand-in for the registry. Returns what to pin. */
  offerNode(node: Buffer): NonNullable<InstallOptions['packages']> {
    const folder = join(this.folder, 'offer', 'package', 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'node'), node);
    const archive = join(this.folder, 'package.tgz');
    spawnSync('tar', ['-czf', archive, '-C', join(this.folder, 'offer'), 'package']);
    const integrity = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    return { 'darwin-arm64': { name: 'node-for-tests', version: '22.23.2', integrity } };
  }

  behave(behaviour: GatewayBehaviour): void {
    this.keep('gateway.json', JSON.stringify({ port: this.port, ...behaviour }));
  }

  /** Stores a flag or content under a name that the stand-ins look for. Returns its path. */
  keep(name: string, content: string | Buffer = ''): string {
    const path = join(this.folder, name);
    // A stand-in may read the file at any moment.
    writeFileSync(`${path}.draft`, content, { mode: 0o755 });
    renameSync(`${path}.draft`, path);
    return path;
  }

  /** Returns what the stand-ins or a test stored; empty if there is nothing. */
  read(name: string): string {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** Grants both permissions to the current bundle, as the user would. */
  grant(): void {
    writeFileSync(this.#fullDiskAccess, JSON.stringify({ SystemPolicyAllFiles: this.cdhash }));
    this.keep('tcc.json', JSON.stringify({ AppleEvents: this.cdhash }));
  }

  /** The stored permissions, each with the cdhash it belongs to. */
  get grants(): Readonly<Record<string, string>> {
    const ofAll = existsSync(this.#fullDiskAccess) ? readFileSync(this.#fullDiskAccess, 'utf8') : '{}';
    return { ...JSON.parse(ofAll), ...JSON.parse(this.read('tcc.json') || '{}') } as Record<string, string>;
  }

  /** Removes all entries by hand, as the user can in System Settings. */
  forgetGrants(): void {
    rmSync(this.#fullDiskAccess, { force: true });
    this.forget('tcc.json');
  }

  get #fullDiskAccess(): string {
    return join(this.#shared, 'tcc-of-all.json');
  }

  /** The cdhash of the current bundle. */
  get cdhash(): string | undefined {
    const program = existsSync(this.layout.executable) ? readFileSync(this.layout.executable, 'latin1') : '';
    return /^# cdhash (\w+)$/m.exec(program)?.[1];
  }

  forget(name: string): void {
    rmSync(join(this.folder, name), { force: true });
  }

  /** Every call of a stand-in: its name and arguments. */
  get asked(): readonly (readonly string[])[] {
    return this.read('asked')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t'));
  }

  /** Verbs of the calls to launchctl that change something. */
  get launchctlVerbs(): readonly string[] {
    return this.asked
      .filter(([name, verb = '']) => name === 'launchctl' && !verb.startsWith('print'))
      .map(([, verb = '']) => verb);
  }

  async close(): Promise<void> {
    switchOff(this.environment);
    for (const job of this.#jobs) {
      for (const pid of [job.supervisor, job.pid]) {
        if (pid === null) continue;
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // The process has already exited.
        }
      }
    }
    // Tries again while a dying process still writes.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
  }
}

/** This Node's answers to questions about itself, which never change. */
const answers = new Map<string, Promise<CommandResult>>();

function remembered(question: string, ask: () => Promise<CommandResult>): Promise<CommandResult> {
  const answer = answers.get(question) ?? ask();
  answers.set(question, answer);
  return answer;
}

function readSettings(configDir: string, port: number): Settings {
  const file = join(configDir, 'config.toml');
  if (!existsSync(file)) return { kind: 'none', server: { host: '127.0.0.1', port } };
  const text = readFileSync(file, 'utf8');
  const written = /^port = (\d+)$/m.exec(text)?.[1];
  const warnings = text.includes('old_key') ? ['server.old_key is not known.'] : [];
  if (written === undefined) return { kind: 'unusable', mistakes: ['server.port must be a number from 1 to 65535.'] };
  const server = { host: '127.0.0.1', port: Number(written) };
  return {
    kind: 'usable',
    config: {
      dir: configDir,
      server: { ...server, rateLimitPerMinute: 60, allowedHosts: [], allowedOrigins: [] },
      auth: { apiKey: 'cardboard' },
      backend: { associatedRows: text.includes('associated_rows = "by_kind"') ? 'by_kind' : 'reactions' },
    },
    warnings,
  };
}
