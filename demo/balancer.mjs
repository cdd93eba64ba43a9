// Round robin over TCP: each connection goes to the next target that accepts it. A load balancer in a few lines, for
// one machine; in production use the one that you have.
import { connect, createServer } from 'node:net';

/** Listens on `port` of loopback (0: a free one) and passes connections to the ports in `targets`. */
export async function startBalancer(port, targets) {
  let next = 0;
  const sockets = new Set();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    track(client);
    const first = next++;
    const attempt = (tried) => {
      if (tried === targets.length) return client.destroy();
      const target = connect({
        host: '127.0.0.1',
        port: targets[(first + tried) % targets.length],
        allowHalfOpen: true,
      });
      target.once('error', () => attempt(tried + 1));
      target.once('connect', () => {
        target.removeAllListeners('error');
        track(target);
        target.once('error', () => client.destroy()).once('close', () => client.destroy());
        client.once('error', () => target.destroy()).once('close', () => target.destroy());
        client.pipe(target).pipe(client);
      });
    };
    client.on('error', () => {});
    attempt(0);
  });
  const track = (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
