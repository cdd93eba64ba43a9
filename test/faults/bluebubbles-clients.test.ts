import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { clientsFolder, hasBlueBubblesClients } from '../support/bluebubbles-clients.ts';
import { testIf } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { freePort, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { BARE_ENVIRONMENT } from '../support/temporary.ts';

const ANA = '+15550100';

const testClients = testIf(
  hasBlueBubblesClients,
  'needs POSTERN_BLUEBUBBLES_CLIENTS, a folder with drive.py and the clients that it drives',
);

testClients(
  'the real clients connect, hear a message, answer it, send a file and clean up',
  async () => {
    const mac = await simulatedMac();
    await mac.command({ do: 'receive', from: ANA, text: 'before' });
    const port = await freePort();
    const service = await Service.start({
      chatDbPath: mac.chatDbPath,
      osascriptPath: mac.osascriptPath,
      settings: { bluebubbles: { port } },
    });
    try {
      const { key } = await limitedKey(service, {
        scopes: ['read', 'events', 'send', 'webhooks'],
        read: [ANA],
        send: [ANA],
        approval: 'never',
        caps: { per_minute: 60 },
      });
      const child = spawn('python3', [join(clientsFolder, 'drive.py')], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...BARE_ENVIRONMENT, HOME: service.folder, URL: `http://127.0.0.1:${port}`, PASSWORD: key, PEER: ANA },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
      await eventually(() => expect(output).toContain('listening'));
      await mac.command({ do: 'receive', from: ANA, text: 'Is anybody there?' });
      const [code] = (await once(child, 'exit')) as [number | null];
      expect([code, output]).toEqual([0, expect.any(String)]);
      expect(output).toContain('heard: Is anybody there?');
      const bodies = mac.calls.flatMap(({ values }) => (values.BODY === undefined ? [] : [values.BODY]));
      expect(bodies).toContain('Answer of the client');
      expect(mac.calls.some(({ values }) => values.ATTACHMENT !== undefined)).toBe(true);
      expect((await service.get('/webhooks')).json).toEqual([]);
    } finally {
      await service.dispose();
      await mac.dispose();
    }
  },
  300_000,
);
