import { AppError } from '../model/errors.ts';
import type { RunCommand } from '../runtime/command.ts';

/** A program that listens on a TCP port of this machine. */
export interface PortListener {
  readonly pid: number | null;
  readonly program: string | null;
  /** The address that the program listens on, as lsof spells it: `*`, `127.0.0.1` or `[::1]`. */
  readonly address: string;
}

const LSOF_LIMIT_MS = 5000;
const WILDCARDS = new Set(['*', '0.0.0.0', '[::]']);

/** Returns this user's programs that listen on the port; empty if lsof is missing or fails. */
export async function portListeners(run: RunCommand, port: number): Promise<readonly PortListener[]> {
  const arguments_ = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpcn'];
  const { stdout } = await run('lsof', arguments_, { timeoutMs: LSOF_LIMIT_MS });
  const listeners: PortListener[] = [];
  let pid: number | null = null;
  let program: string | null = null;
  for (const line of stdout.split('\n')) {
    const value = line.slice(1);
    if (line.startsWith('p')) {
      pid = /^\d+$/.test(value) ? Number(value) : null;
      program = null;
    } else if (line.startsWith('c')) program = value;
    else if (line.startsWith('n')) listeners.push({ pid, program, address: value.replace(/:\d+$/, '') });
  }
  return listeners;
}

/**
 * Returns the program that already listens on `host:port`, or on every address of that port. macOS would let Postern
 * bind `127.0.0.1:3001` beside a program on `*:3001`, because libuv sets SO_REUSEADDR; Linux refuses (nodejs/node
 * #14618, tilt-dev/tilt #1496).
 */
export async function portHolder(run: RunCommand, host: string, port: number): Promise<PortListener | undefined> {
  const own = host === 'localhost' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const listeners = await portListeners(run, port);
  return listeners.find(({ address }) => WILDCARDS.has(own) || WILDCARDS.has(address) || address === own);
}

/** Throws `port_taken` if another program already listens on `host:port` or on every address of that port. */
export async function assertPortFree(run: RunCommand, host: string, port: number): Promise<void> {
  const holder = port === 0 ? undefined : await portHolder(run, host, port);
  if (holder === undefined) return;
  throw new AppError('port_taken', `${described(holder)} listens on ${holder.address}:${port}.`);
}

/**
 * Returns text such as `ruby, process 99`. Omits an unknown process id, and calls an unknown program `another program`.
 */
export function described({ program, pid }: Omit<PortListener, 'address'>): string {
  return `${program ?? 'another program'}${pid === null ? '' : `, process ${pid}`}`;
}
