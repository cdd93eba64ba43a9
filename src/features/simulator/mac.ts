import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeAddressBook } from './address-book.ts';
import type { Command } from './commands.ts';
import type { MacosVersion } from './macos-versions.ts';
import type { ProcessSettings } from './messages-process.ts';

export interface MacOptions {
  /** The simulated Mac's folder. Existing content is reused. */
  readonly dir: string;
  readonly macosVersion?: MacosVersion;
  /** Adds simulated people who write and answer on their own. Default false. */
  readonly hasPeople?: boolean;
  /** Keeps the simulated people from writing unprompted after their story. Default false. */
  readonly isQuiet?: boolean;
  /** Folder of the compiled simulator. Default: this module's folder. */
  readonly moduleFolder?: string;
}

/** The input of a run of the simulated osascript or open. */
export interface RecordedCall {
  readonly tool: 'osascript' | 'open';
  readonly arguments: readonly string[];
  /** Names of all environment variables of the run. */
  readonly environment: readonly string[];
  readonly values: Readonly<Partial<Record<'RECIPIENT' | 'CHAT_ID' | 'SERVICE' | 'BODY' | 'ATTACHMENT', string>>>;
  /** Key: a name in `values`. Value: the UTF-8 bytes of its value, in hexadecimal. */
  readonly bytes: Readonly<Record<string, string>>;
}

/**
 * A simulated Mac: a home folder whose chat.db another process writes, and simulated programs `osascript` and `open`.
 */
export class SimulatedMac {
  readonly homeFolder: string;
  readonly chatDbPath: string;
  readonly osascriptPath: string;
  readonly addressBookPath: string;
  readonly #options: MacOptions;
  readonly #socketPath: string;
  readonly #recordPath: string;
  readonly #moduleFolder: string;
  #child: ChildProcess | undefined;

  constructor(options: MacOptions) {
    const { dir } = options;
    this.#options = options;
    this.homeFolder = join(dir, 'home');
    this.chatDbPath = join(this.homeFolder, 'Library/Messages/chat.db');
    this.addressBookPath = join(this.homeFolder, 'Library/Application Support/AddressBook');
    this.osascriptPath = join(dir, 'bin/osascript');
    this.#recordPath = join(dir, 'osascript-calls.jsonl');
    // Socket paths are limited to about 100 bytes, and `dir` may be longer. So the socket is in the temporary folder,
    // under a hash of `dir`.
    const name = createHash('sha256').update(dir).digest('hex').slice(0, 16);
    this.#socketPath = join(tmpdir(), `postern-messages-${name}.sock`);
    this.#moduleFolder = options.moduleFolder ?? fileURLToPath(new URL('.', import.meta.url));
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** All runs of osascript and open, in order. */
  get calls(): readonly RecordedCall[] {
    if (!existsSync(this.#recordPath)) return [];
    const lines = readFileSync(this.#recordPath, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as RecordedCall);
  }

  /** Starts Messages. `isReborn` starts it as after a kill, with new -wal and -shm files. */
  async start({ isReborn = false }: { readonly isReborn?: boolean } = {}): Promise<void> {
    mkdirSync(this.homeFolder, { recursive: true, mode: 0o700 });
    if (this.#options.hasPeople === true && !existsSync(this.addressBookPath)) writeAddressBook(this.addressBookPath);
    this.#install('osascript');
    this.#install('open');
    for (const [name, script] of Object.entries(CONVERTERS)) this.#write(name, script);
    const settings: ProcessSettings = {
      home: this.homeFolder,
      socketPath: this.#socketPath,
      version: this.#options.macosVersion ?? '26',
      hasPeople: this.#options.hasPeople ?? false,
      isQuiet: this.#options.isQuiet ?? false,
      isReborn,
    };
    const extension = existsSync(join(this.#moduleFolder, 'messages-process.ts')) ? 'ts' : 'js';
    const script = join(this.#moduleFolder, `messages-process.${extension}`);
    const child = spawn(process.execPath, [script, JSON.stringify(settings)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { TMPDIR: tmpdir() },
    });
    this.#child = child;
    let words = '';
    child.stderr.on('data', (chunk) => {
      words += String(chunk);
    });
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve());
      child.once('close', (code) => reject(lastError(words) ?? new Error(`the simulated Messages ended with ${code}`)));
    });
    child.removeAllListeners('close');
  }

  /**
   * Sends the simulated Messages a command and returns the result. Rejects with the reason if the command is invalid.
   */
  async command<Result = unknown>(command: Command): Promise<Result> {
    const socket = connect(this.#socketPath);
    socket.write(`${JSON.stringify(command)}\n`);
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.endsWith('\n')) break;
    }
    socket.destroy();
    const answer = JSON.parse(text) as { ok: boolean; result: Result; error: string };
    if (!answer.ok) throw new Error(answer.error);
    return answer.result;
  }

  /** Kills Messages, as a crash would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Quits Messages. Calling it twice is fine. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    // A killed Messages cannot remove its socket.
    rmSync(this.#socketPath, { force: true });
  }

  /**
   * Installs a tool as a shell script. The paths in the script are absolute, because Postern runs it with an almost
   * empty environment.
   */
  #install(tool: 'osascript' | 'open'): void {
    const words = [
      process.execPath,
      join(this.#moduleFolder, 'osascript.js'),
      tool,
      this.#socketPath,
      this.#recordPath,
    ];
    const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    this.#write(tool, `#!/bin/sh\nexec ${quoted} "$@"\n`);
  }

  #write(tool: string, script: string): void {
    const path = join(this.#options.dir, 'bin', tool);
    mkdirSync(join(this.#options.dir, 'bin'), { recursive: true });
    writeFileSync(path, script);
    chmodSync(path, 0o755);
  }
}

/**
 * Stand-ins for the macOS converters that Postern calls. They need ffmpeg, and heif-convert for HEIC. If ffmpeg or
 * heif-convert is missing, the stand-in exits with the shell's code for a missing program.
 */
const CONVERTERS = {
  sips: `#!/bin/sh
# sips -s format jpeg [-Z max] source --out target
while [ $# -gt 0 ]; do
  case "$1" in
    -s) shift 3 ;;
    -Z) max=$2; shift 2 ;;
    --out) target=$2; shift 2 ;;
    *) source=$1; shift ;;
  esac
done
case "$source" in *.heic) heif-convert "$source" "$target.png" >&2 || exit; source=$target.png ;; esac
size=null
[ -n "$max" ] && size="scale=w='min(iw,$max)':h='min(ih,$max)':force_original_aspect_ratio=decrease"
exec ffmpeg -nostdin -v error -protocol_whitelist file -i "$source" -frames:v 1 -vf "$size" -f mjpeg "$target"
`,
  'sandbox-exec': `#!/bin/sh
# sandbox-exec -p profile [-D key=value]... command [argument]...   Restricts nothing.
while getopts p:D: option; do :; done
shift $((OPTIND - 1))
exec "$@"
`,
  afconvert: `#!/bin/sh
# afconvert -f m4af -d aac source target
exec ffmpeg -nostdin -v error -protocol_whitelist file -i "$5" -vn -c:a aac -f ipod "$6"
`,
} as const;

/** Returns the error with which a program of Node.js ended, from what it printed; undefined if it printed none. */
function lastError(printed: string): Error | undefined {
  const message = /^\w*Error: (.+)$/m.exec(printed)?.[1];
  if (message === undefined) return undefined;
  return Object.assign(new Error(message, { cause: printed }), { code: /^ {2}code: '(\w+)'/m.exec(printed)?.[1] });
}
