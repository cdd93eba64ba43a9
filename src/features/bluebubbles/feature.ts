import { urlOf } from '../../core/config/service-address.ts';
import { integer, type Setting } from '../../core/config/setting.ts';
import { isHost } from '../../core/config/settings.ts';
import { feature } from '../../core/feature.ts';
import { AppError } from '../../core/model/errors.ts';
import { hostClassOf } from '../../core/model/local-network.ts';

const OFF = 'Set bluebubbles.port in config.toml and restart Postern. Then:';

/** Serves the REST API of BlueBubbles on another port, for programs that know no other gateway. */
export const bluebubbles = feature({
  name: 'bluebubbles',
  settings: {
    port: integer(
      {
        name: 'bluebubbles.port',
        title: 'BlueBubbles port',
        about: "The TCP port for programs that speak BlueBubbles' REST API, with a limited key as password. 0: off.",
      },
      0,
      65_535,
      0,
    ),
    host: {
      name: 'bluebubbles.host',
      title: 'BlueBubbles address',
      about:
        'The address that bluebubbles.port listens on. On any address other than loopback, the key crosses the network unencrypted.',
      allowed: 'a host name or an IP address (IPv6 without brackets)',
      defaultValue: () => '127.0.0.1',
      read: (written) => (typeof written === 'string' && isHost(written) ? written : undefined),
    } satisfies Setting<string>,
  },
  clients({ secret, scopes }, values, server) {
    if (!scopes.includes('read') || !scopes.includes('webhooks')) return [];
    const isOn = values !== undefined && values.port !== 0;
    const url = isOn ? urlOf({ ...server, ...values }) : 'http://127.0.0.1:1234';
    const off = isOn ? [] : [OFF];
    return [
      {
        client: 'Hermes',
        where: 'its environment',
        lines: [...off, `BLUEBUBBLES_SERVER_URL=${url}`, `BLUEBUBBLES_PASSWORD=${secret}`],
      },
      {
        client: 'Home Assistant',
        where: 'its BlueBubbles integration',
        lines: [...off, `URL: ${url}`, `Password: ${secret}`],
      },
    ];
  },
  check: ({ host, port }, { server }) =>
    port !== 0 && port === server.port && host === server.host
      ? { mistakes: [`bluebubbles.port is ${port}, as is server.port; set another port.`] }
      : {},
  open({ wires, host: { clock, log, version }, counters }, { host, port }) {
    if (port === 0) return undefined;
    // The serialiser is loaded with the first webhook of this protocol.
    wires.set('bluebubbles', async (...event) => (await import('./event-json.ts')).blueBubblesEventJson(...event));
    return {
      async start(http) {
        const [{ BlueBubbles }, { WireListener }] = await Promise.all([
          import('./blue-bubbles.ts'),
          import('./wire-listener.ts'),
        ]);
        const listener = new WireListener({ wire: new BlueBubbles({ version, counters }), clock });
        const url = await http
          .listenForWire(host, port, (...request) => listener.receive(...request))
          .catch((error: unknown) => {
            throw notListening(host, port, error);
          });
        log.info('serving BlueBubbles', { port: Number(new URL(url).port) });
        if (hostClassOf(`http://${host.includes(':') ? `[${host}]` : host}`) === 'loopback') return;
        log.warn('bluebubbles.host lets other machines connect, and keys cross the network unencrypted', { host });
      },
    };
  },
});

function notListening(host: string, port: number, cause: unknown): AppError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AppError(
    'bluebubbles_not_listening',
    `${host}:${port}, the port for BlueBubbles, cannot be used (${reason}).`,
    {
      hint: 'If another program uses the port, stop it. Or set another bluebubbles.host or bluebubbles.port in config.toml.',
      cause,
    },
  );
}
