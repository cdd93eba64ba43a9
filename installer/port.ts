import { createServer } from 'node:net';
import { portHolder } from '../src/core/mac/port-listeners.ts';
import { errorCode } from '../src/core/model/errors.ts';
import type { RunCommand } from '../src/core/runtime/command.ts';

/** The state of a host and port: free, taken by a program, or impossible to listen on. */
export type PortState =
  | { readonly kind: 'free' }
  | { readonly kind: 'taken'; readonly pid: number | null; readonly program: string | null }
  /** The address does not belong to this machine, or needs more rights. */
  | { readonly kind: 'impossible'; readonly code: string };

/**
 * Returns the state of a port. Binds the port as the gateway would and releases it at once. Also asks lsof, because
 * macOS lets some listeners share a port: binding can succeed although another program listens there.
 */
export async function portState(run: RunCommand, host: string, port: number): Promise<PortState> {
  const code = await new Promise<string | null>((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(errorCode(error) ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
  if (code !== null && code !== 'EADDRINUSE') return { kind: 'impossible', code };
  const holder = await portHolder(run, host, port);
  if (code === null && holder === undefined) return { kind: 'free' };
  return { kind: 'taken', pid: holder?.pid ?? null, program: holder?.program ?? null };
}
