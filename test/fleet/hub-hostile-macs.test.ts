import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import type { PosternClient } from '../../src/client/postern-client.ts';
import type { ProblemMessage } from '../../src/features/fleet/protocol/fleet-records-schema.ts';
import { fromProblem } from '../../src/features/fleet/protocol/requests.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf } from '../support/fleet-mac.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { quickClock } from '../support/quick-clock.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';

const NOTHING = { result: { items: [] } };
const UNAUTHORIZED: ProblemMessage = {
  ...{ status: 401, code: 'unauthorized', message: 'Another key is needed.' },
  extra: { type: 'https://evil.example', title: 'x', status: 200 },
};

describeWithNats('one Mac that misbehaves', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let client: PosternClient;
  let nc: NatsConnection | undefined;
  const clock = quickClock(10, () => nc);
  const agents = new Map<string, StandInAgent>();

  beforeAll(async () => {
    const macs = ['good', 'evil', 'hung', 'twin-1', 'twin-2'];
    server = await NatsServer.forFleet(macs);
    nc = await clientOf(server);
    hub = await HubFixture.start([server.url], {}, undefined, clock);
    client = hub.client;
    for (const mac of macs) {
      const agent = await StandInAgent.connect(server.url, mac);
      agents.set(mac, agent);
      const reply = mac === 'evil' ? { problem: UNAUTHORIZED } : mac === 'hung' ? undefined : NOTHING;
      await agent.answer('listMessages', reply);
      await agent.answer('listConversations', reply);
    }
    await announceAll();
    await eventually(async () => expect((await client.status()).macs).toHaveLength(5));
  });
  afterAll(async () => {
    for (const agent of agents.values()) await agent.close();
    await hub.dispose();
    await nc?.close();
    await server.dispose();
  });

  /** A Mac that has been silent for 30 s counts as away: 3 s of this clock. */
  async function announceAll(): Promise<void> {
    for (const [mac, agent] of agents) {
      await agent.announce('i', mac.startsWith('twin') ? ['+1 (555) 010-0100'] : []);
    }
  }
  beforeEach(announceAll);

  test('and refuses everything is named as missing, and its problem is not the hub’s', async () => {
    for (const path of ['/messages', '/conversations']) {
      const list = await hub.get(path);
      expect([path, list.status, await list.json()]).toEqual([path, 200, []]);
      expect(list.headers.get('postern-partial')).toBe('evil, hung');
    }
  });

  test('and hangs delays a request once, and by only half a second after that', async () => {
    await hub.get('/messages');
    const startMs = clock.monotonic();
    await hub.get('/messages');
    await hub.get('/conversations');
    expect(clock.monotonic() - startMs).toBeLessThan(5000);
    await agents.get('hung')?.close();
    const back = await StandInAgent.connect(server.url, 'hung');
    agents.set('hung', back);
    await back.answer('listMessages', NOTHING);
    expect((await hub.get('/messages')).headers.get('postern-partial')).toBe('evil');
  });

  test('and announces the address of another Mac receives no sends for it, and the status names both', async () => {
    const send = (from: string) =>
      fetch(`${hub.api}/messages`, {
        method: 'POST',
        headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json' },
        body: JSON.stringify({ recipient: '+15550199', body: 'x', from }),
      });
    const refused = await send('+15550100100');
    expect([refused.status, await refused.json()]).toEqual([
      422,
      expect.objectContaining({ code: 'from_required', candidates: ['twin-1', 'twin-2'] }),
    ]);
    const { macs = [] } = await client.status();
    expect(macs.filter(({ shared_addresses: shared }) => shared.length > 0).map(({ id }) => id)).toEqual([
      'twin-1',
      'twin-2',
    ]);
    // A send can name the Mac by its id, but no agent here takes it.
    expect(((await (await send('twin-1')).json()) as { code: string }).code).toBe('mac_away');
  });
});

test.each<[string, Partial<ProblemMessage>]>([
  ['a code that is not in the catalogue', { status: 400, code: 'evil_code' }],
  ['another status than its code has', { status: 200, code: 'message_not_found' }],
  ['the problem of a key', { status: 401, code: 'unauthorized' }],
  ['a limit of a key', { status: 403, code: 'scope_missing' }],
  ['the problem of a hub', { status: 503, code: 'broker_away' }],
  ['no code', { status: 503 }],
])('a Mac that reports %s has given an invalid answer', (_, given) => {
  expect(fromProblem({ message: 'x', ...given })).toMatchObject({ code: 'mac_answer_invalid', status: 502 });
});

test('a problem from a Mac can neither add members to the answer nor control a terminal', () => {
  const found = fromProblem({
    ...{ status: 404, code: 'message_not_found', message: 'gone\n\u001b[2J', hint: `x\u202e${'y'.repeat(5000)}` },
    extra: { status: 200, type: 'x', title: 'x', detail: 'x', code: 'x', errors: [], hint: 'x', more: 1 },
    headers: { 'Set-Cookie': 'x', 'Retry-After': '3' },
  });
  expect([found.message, found.extra, found.headers]).toEqual(['gone ⟨U+001B⟩[2J', {}, { 'Retry-After': '3' }]);
  expect(found.hint?.length).toBeLessThan(600);
});
