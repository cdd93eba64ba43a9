import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { waitFor } from './eventually.ts';
import { whenFileEnds } from './temporary.ts';

/** A real nats-server with the configuration that `postern fleet` wrote, on a free loopback port. */
export class FleetServer {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Starts the server of the fleet in `path`, and stores its address there. */
  static async start(path: string, scheme: 'nats' | 'tls' = 'nats'): Promise<FleetServer> {
    const ports = mkdtempSync(join(path, 'ports-'));
    const args = ['-c', 'nats-server.conf', '-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', ports];
    const child = spawn('nats-server', args, { cwd: join(path, 'server'), stdio: ['ignore', 'ignore', 'pipe'] });
    whenFileEnds(() => child.kill('SIGKILL'));
    let output = '';
    child.stderr?.on('data', (chunk) => (output += String(chunk)));
    const port = await waitFor(() => {
      if (child.exitCode !== null) throw new Error(`nats-server ended with ${child.exitCode}: ${output}`);
      const file = join(ports, `nats-server_${child.pid}.ports`);
      const [listens = ''] = Object.values(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string[]>).flat();
      return output.includes('Server is ready') && new URL(listens).port;
    });
    const url = `${scheme}://127.0.0.1:${port}`;
    const record = join(path, 'fleet.json');
    writeFileSync(record, JSON.stringify({ ...JSON.parse(readFileSync(record, 'utf8')), servers: [url] }));
    return new FleetServer(child, url);
  }

  /** Reloads the configuration, as an operator does after `postern fleet revoke`. */
  reload(): void {
    this.#child.kill('SIGHUP');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** Creates a fleet with one server on loopback, in a new folder. */
export async function newFleet(path: string, macs: readonly string[]): Promise<FleetFolder> {
  const loopback = { host: '127.0.0.1', port: 4222, isLoopback: true, url: 'nats://127.0.0.1:4222' };
  const settings = { servers: [loopback], serverVersion: '2.9', content: 'encrypted', hasCertificates: true } as const;
  const folder = await FleetFolder.create(path, settings, () => Promise.reject(new Error('No program is needed.')));
  for (const mac of macs) folder.addMac(mac, '2026-01-01T00:00:00Z');
  return folder;
}
