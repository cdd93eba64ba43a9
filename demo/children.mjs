import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

const END_MS = 15_000;

/** Starts, stops and pauses programs by name. Signals no others. */
export class Children {
  #logs;
  #plans = new Map();
  #running = new Map();

  constructor(logs) {
    this.#logs = logs;
  }

  get names() {
    return [...this.#plans.keys()];
  }

  isRunning(name) {
    return this.#running.has(name);
  }

  /** Starts a program in its own process group, which Ctrl+C does not reach. Its output goes to NAME.log. */
  start(name, plan = this.#plans.get(name)) {
    if (this.#running.has(name)) return;
    this.#plans.set(name, plan);
    const log = openSync(join(this.#logs, `${name}.log`), 'a');
    const { command, args, cwd } = plan;
    const child = spawn(command, args, { cwd, stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#running.set(name, child);
    child.once('error', () => this.#running.delete(name));
    child.once('exit', () => this.#running.delete(name));
  }

  /** Signals a program and everything that it started, such as the simulated Messages of a Mac. */
  signal(name, signal) {
    const pid = this.#running.get(name)?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }

  /** Asks a program to end, and kills it after 15 s. Resolves when it has ended. */
  async stop(name) {
    const child = this.#running.get(name);
    if (child === undefined) return;
    const ended = once(child, 'exit');
    this.signal(name, 'SIGCONT');
    child.kill('SIGTERM');
    const timer = setTimeout(() => this.signal(name, 'SIGKILL'), END_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Kills a program. Resolves when it has ended. */
  async kill(name) {
    const child = this.#running.get(name);
    if (child === undefined) return;
    const ended = once(child, 'exit');
    this.signal(name, 'SIGKILL');
    await ended;
  }

  killAll() {
    for (const name of this.#running.keys()) this.signal(name, 'SIGKILL');
  }
}
