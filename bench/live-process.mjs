// Starts processes that answer requests, and measures what a process has used.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Starts the script `name` of this folder. Each `ask` calls one of the functions that the script passed to `answer`,
 * one at a time.
 */
export function startProcess(name, ...args) {
  const child = fork(new URL(name, import.meta.url).pathname, args.map(String));
  let settle;
  child.on('message', (answer) => settle?.resolve(answer));
  child.on('exit', () => settle?.reject(new Error(`${name} ended`)));
  return {
    pid: child.pid,
    ask: (what, given) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        child.send([what, given]);
      }),
    async stop() {
      if (!child.connected) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

/** Answers each `ask` of the parent process with one of these functions. */
export function answer(functions) {
  process.on('message', async ([what, given]) => process.send((await functions[what](given)) ?? null));
  process.on('disconnect', () => process.exit());
}

/** Returns milliseconds of a clock that all processes of the machine share. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Returns the processor time of all threads of a process so far, in milliseconds (Linux). */
export function cpuMs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const spentNs = (thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  return threads.reduce((sum, thread) => sum + spentNs(thread), 0) / 1e6;
}

/** Returns a process's resident memory in MiB: now (`VmRSS`) or at its highest (`VmHWM`) (Linux). */
export function residentMiB(pid, what = 'VmRSS') {
  const line = new RegExp(`${what}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line[1]) / 1024;
}

export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
