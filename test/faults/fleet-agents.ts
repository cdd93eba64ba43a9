import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../support/eventually.ts';
import { KEY } from '../support/service.ts';
import { CLOCK } from './fleet-hubs.ts';

/** Starts Macs of this version. */
export const MACS_SCRIPT = fileURLToPath(new URL('fleet-macs.mjs', import.meta.url));

export interface Mac {
  readonly id: string;
  readonly folder: string;
  readonly chatDbPath: string;
}

/** Niceness of the processes that stand for other machines. */
const NICENESS = 10;

/** Lets hubs and receivers run before this process. In a fleet, they do not share a processor with the Macs. */
export function yieldToHubs({ pid }: Pick<ChildProcess, 'pid'>): void {
  if (pid !== undefined) setPriority(pid, NICENESS);
}

/** The services of some of the Macs, in one process. SIGUSR2 sets its clock, as set-clock.cjs does. */
export class AgentProcess {
  readonly macs: readonly Mac[];
  /** Path of the fleet-macs.mjs of the version to start. */
  program: string;
  readonly #servers: readonly string[];
  #child: ChildProcess | undefined;
  /** Address of each Mac's API. */
  urls: Readonly<Record<string, string>> = {};

  constructor(macs: readonly Mac[], servers: readonly string[], program = MACS_SCRIPT) {
    this.macs = macs;
    this.program = program;
    this.#servers = servers;
  }

  async launch(): Promise<void> {
    const settings = JSON.stringify({ macs: this.macs, servers: this.#servers });
    const child = spawn(process.execPath, [this.program, settings], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: `--require ${CLOCK}` },
    });
    this.#child = child;
    yieldToHubs(child);
    let text = '';
    child.stdout?.on('data', (chunk) => (text += String(chunk)));
    await waitFor(() => {
      if (child.exitCode !== null) throw new Error(`the agents ended with ${child.exitCode}`);
      return text.endsWith('\n');
    });
    this.urls = JSON.parse(text) as Record<string, string>;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Reports whether the local API of every Mac answers with its newest message. */
  async answers(): Promise<boolean> {
    const answers = await Promise.all(
      Object.values(this.urls).map((url) => fetch(`${url}/api/v1/messages?limit=1`, { headers: { 'x-api-key': KEY } })),
    );
    return answers.every(({ ok }) => ok);
  }
}
