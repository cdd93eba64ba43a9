import { createServer } from 'node:net';
import { errorCode } from '../src/domain/errors.ts';
import type { RunCommand } from '../src/mac/command.ts';

/** Whether the gateway could listen there, and who does if it could not. */
export type PortState =
  | { readonly kind: 'free' }
  | { readonly kind: 'taken'; readonly pid: number | null; readonly program: string | null }
  /** The address is none of this machine's, or needs more rights. */
  | { readonly kind: 'impossible'; readonly code: string };

/** Tries to listen as the gateway would, and lets go at once. */
export async function portState(run: RunCommand, host: string, port: number): Promise<PortState> {
  const code = await new Promise<string | null>((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(errorCode(error) ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
  if (code === null) return { kind: 'free' };
  if (code !== 'EADDRINUSE') return { kind: 'impossible', code };
  const listed = await run('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']);
  const pid = /^p(\d+)$/m.exec(listed.stdout)?.[1];
  return {
    kind: 'taken',
    pid: pid === undefined ? null : Number(pid),
    program: /^c(.+)$/m.exec(listed.stdout)?.[1] ?? null,
  };
}
