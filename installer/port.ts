import { createServer } from 'node:net';
import { errorCode } from '../src/domain/errors.ts';
import { portHolder } from '../src/mac/system/port-listeners.ts';
import type { RunCommand } from '../src/runtime/command.ts';

/** Whether the gateway could listen there, and who does if it could not. */
export type PortState =
  | { readonly kind: 'free' }
  | { readonly kind: 'taken'; readonly pid: number | null; readonly program: string | null }
  /** The address is none of this machine's, or needs more rights. */
  | { readonly kind: 'impossible'; readonly code: string };

/** Tries to listen as the gateway would, lets go at once, and asks lsof for what macOS lets share the port. */
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
