import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { whenFileEnds } from './temporary.ts';

/**
 * Returns a port of this machine that leads to another one by a line on which every byte needs `ms` milliseconds, in
 * both directions.
 */
export async function delayedLink(port: number, ms: number): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('data', (bytes) => void setTimeout(() => to.write(bytes), ms));
      from.on('end', () => void setTimeout(() => to.end(), ms));
      from.on('close', () => {
        sockets.delete(from);
        setTimeout(() => to.destroy(), ms);
      });
    }
  }).listen(0, '127.0.0.1');
  whenFileEnds(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
