// A load balancer for one machine: each TCP connection goes to the next target that is ready. In production, use a real
// one.
import { connect, createServer } from 'node:net';

const CHECK_EVERY_MS = 1000;

/**
 * Listens on a port of loopback (0: a free one) and passes each connection to a port in `targets`: preferably to one
 * whose `/ready` answers 200, otherwise to any that accepts it.
 */
export async function startBalancer(port, targets) {
  let next = 0;
  const unready = new Set();
  const check = setInterval(() => {
    for (const target of targets) {
      fetch(`http://127.0.0.1:${target}/ready`, { signal: AbortSignal.timeout(CHECK_EVERY_MS) })
        .then(({ ok }) => ok)
        .catch(() => false)
        .then((isReady) => (isReady ? unready.delete(target) : unready.add(target)));
    }
  }, CHECK_EVERY_MS);
  const sockets = new Set();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    track(client);
    const first = next++;
    const inTurn = targets.map((_, place) => targets[(first + place) % targets.length]);
    const inOrder = [...inTurn.filter((one) => !unready.has(one)), ...inTurn.filter((one) => unready.has(one))];
    const attempt = (tried) => {
      if (tried === targets.length) return client.destroy();
      const target = connect({ host: '127.0.0.1', port: inOrder[tried], allowHalfOpen: true });
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
      clearInterval(check);
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
