// Starts a separate nats-server with the streams of a fleet, as `postern fleet` makes them, and the lines of its members.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { createUser } from '@nats-io/nkeys';
import { connect } from '@nats-io/transport-node';
import { deriveMemberKey, newFleetKey } from '../dist/src/features/fleet/protocol/envelope.js';
import { membershipLine } from '../dist/src/features/fleet/protocol/membership.js';
import { createFleet } from '../dist/src/features/fleet/setup/streams.js';
import { wait } from './live-process.mjs';

const PROGRAM = process.env.NATS_SERVER ?? 'nats-server';

export function hasBroker() {
  try {
    execFileSync(PROGRAM, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export async function startBroker() {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-nats-'));
  const settings = ['-a', '127.0.0.1', '-p', '-1', '-js', '-sd', join(folder, 'store'), '--ports_file_dir', folder];
  const child = spawn(PROGRAM, settings, { stdio: 'ignore' });
  const url = await addressIn(folder);
  const nc = await connect({ servers: url });
  const jsm = await jetstreamManager(nc);
  await createFleet(jsm);
  const key = newFleetKey();
  const seed = new TextDecoder().decode(createUser().getSeed());
  return {
    /** Writes the line of a Mac, or of the hub, and returns the file's path. */
    file(member) {
      const keys = [member === undefined ? key : deriveMemberKey(key, member)];
      const path = join(folder, `${member ?? 'hub'}.line`);
      writeFileSync(path, membershipLine({ member, servers: [url], seed, ca: undefined, keys }), { mode: 0o600 });
      return path;
    },
    async stop() {
      await nc.close();
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function addressIn(folder) {
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    const name = readdirSync(folder).find((one) => one.endsWith('.ports'));
    const path = name && join(folder, name);
    if (path && existsSync(path)) {
      try {
        return JSON.parse(readFileSync(path, 'utf8')).nats[0];
      } catch {
        // The file is still being written.
      }
    }
    await wait(10);
  }
  throw new Error('nats-server did not start');
}
