import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Msg } from '@nats-io/nats-core';
import { checkConfig } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { parseToml } from '../../src/core/config/toml.ts';
import { nameOfOne, qualify, splitId } from '../../src/core/model/fleet.ts';
import type { Message } from '../../src/core/model/message.ts';
import { problem } from '../../src/core/model/problems.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { qualifiedMessage } from '../../src/features/fleet/hub/qualified.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import {
  agentKeys,
  Envelope,
  hubKeys,
  macKeyLine,
  newFleetKeyLine,
} from '../../src/features/fleet/protocol/envelope.ts';
import { encodeEvent, eventId, openEvent, readEventHeaders } from '../../src/features/fleet/protocol/event-message.ts';
import { HEADERS, readSubject } from '../../src/features/fleet/protocol/layout.ts';
import { ask, readQuestion, respond, toProblem } from '../../src/features/fleet/protocol/requests.ts';
import { FEATURES } from '../../src/features/list.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

function fleetOf(toml: string) {
  const parsed = parseToml(`${toml}\n[auth]\napi_key = "0123456789abcdef"`);
  if ('syntaxError' in parsed) throw new Error(parsed.syntaxError);
  const checked = checkConfig(parsed.tables, '/config', processEnvironment({ HOME: '/h' }, 'linux', FEATURES));
  return 'mistakes' in checked ? checked.mistakes : checked.config.fleet;
}

describe('[fleet] in config.toml', () => {
  test('is absent by default, and its defaults depend on where the servers are', () => {
    expect(fleetOf('')).toBeUndefined();
    expect(fleetOf('[fleet]')).toBeUndefined();
    expect(fleetOf('[fleet]\nservers = ["nats://127.0.0.1:4222"]')).toEqual({
      servers: ['nats://127.0.0.1:4222'],
      mac: '',
      keyFile: '',
      caFile: '',
      content: 'plain',
      contentKeyFile: '',
      backfillHours: 24,
      changes: false,
    });
    expect(fleetOf('[fleet]\nservers = ["tls://a.example:4222"]\nmac = "m7"\ncontent_key_file = "/k"')).toMatchObject({
      content: 'encrypted',
      mac: 'm7',
    });
  });

  test.each([
    ['mac = "m7"', 'fleet.servers is missing'],
    ['servers = ["nats://broker.example:4222"]', 'fleet.servers[0] is "nats://broker.example:4222"'],
    ['servers = ["nats://127.0.0.1.example:4222"]', 'fleet.servers[0] is'],
    ['servers = ["tls://me:secret@broker.example"]', 'fleet.servers[0] is'],
    ['servers = ["tls://broker.example"]', 'fleet.content_key_file is missing'],
    ['servers = ["nats://127.0.0.1"]\nmac = "M~7"', 'fleet.mac is "M~7"'],
    ['servers = ["nats://127.0.0.1"]\ncontent_key_file = "/k"', 'fleet.content_key_file is not used'],
    ['servers = ["nats://127.0.0.1", "tls://[::1]"]', 'fleet.servers must all begin with tls://'],
  ])('a mistake in it is named: %s', (toml, mistake) => {
    expect(fleetOf(`[fleet]\n${toml}`)).toEqual([expect.stringContaining(mistake)]);
  });
});

test('a qualified id is split at its first ~', () => {
  expect(splitId(qualify('m7', 'any;-;a~b'))).toEqual({ mac: 'm7', id: 'any;-;a~b' });
  for (const text of ['812', '~812', 'm7~', 'M7~812', 'm.7~812', `${'a'.repeat(33)}~1`]) {
    expect(splitId(text)).toBeUndefined();
  }
});

test('every row id in a message is qualified with its Mac', () => {
  const details = { reply_to: { id: '3' }, part_of: { id: '4', guid: 'G' }, reactions: [{ id: '5', message_id: '7' }] };
  const message = { id: '7', conversation_id: 'any;-;a', details } as unknown as Message;
  expect(qualifiedMessage(nameOfOne('m7'), message)).toMatchObject({
    id: 'm7~7',
    details: {
      reply_to: { id: 'm7~3' },
      part_of: { id: 'm7~4', guid: 'G' },
      reactions: [{ id: 'm7~5', message_id: 'm7~7' }],
    },
  });
});

describe('the envelope', () => {
  const fleetKey = newFleetKeyLine();
  const hub = new Envelope(hubKeys(fleetKey));
  const agent = new Envelope(agentKeys(macKeyLine(fleetKey, 'm1')));
  const text = Buffer.from('Grüße');
  const unreadable = expect.objectContaining({ code: 'fleet_content_unreadable' });

  test('opens a sealed message only in its own context, and only unchanged', () => {
    const sealed = agent.seal('m1', ['ev', 'e', '7'], text);
    expect(Buffer.from(sealed.bytes).includes('Gr')).toBe(false);
    expect(Buffer.from(hub.open('m1', ['ev', 'e', '7'], sealed)).toString()).toBe('Grüße');
    expect(() => hub.open('m1', ['ev', 'e', '8'], sealed)).toThrow(unreadable);
    expect(() => hub.open('m2', ['ev', 'e', '7'], sealed)).toThrow(unreadable);
    const changed = Buffer.from(sealed.bytes);
    changed[14] = (changed[14] ?? 0) ^ 1;
    expect(() => hub.open('m1', ['ev', 'e', '7'], { ...sealed, bytes: changed })).toThrow(unreadable);
    expect(() => hub.open('m1', ['ev', 'e', '7'], { ...sealed, bytes: new Uint8Array(3) })).toThrow(unreadable);
  });

  test('does not open a message of one Mac with the key of another', () => {
    const other = new Envelope(agentKeys(macKeyLine(fleetKey, 'm2')));
    const sealed = other.seal('m2', [], text);
    expect(() => agent.open('m2', [], sealed)).toThrow(unreadable);
    expect(Buffer.from(hub.open('m2', [], sealed)).toString()).toBe('Grüße');
  });

  test('accepts two keys during a rotation, and refuses plain messages with keys and sealed ones without', () => {
    const newKey = newFleetKeyLine();
    const both = new Envelope(hubKeys(`${newKey}\n${fleetKey}\n`));
    const old = agent.seal('m1', [], text);
    expect(both.open('m1', [], old)).toBeDefined();
    expect(() => agent.open('m1', [], both.seal('m1', [], text))).toThrow(unreadable);
    expect(() => agent.open('m1', [], { bytes: text })).toThrow(unreadable);
    expect(() => new Envelope().open('m1', [], old)).toThrow(unreadable);
    expect(new Envelope().open('m1', [], { bytes: text })).toBe(text);
  });

  test.each(['', 'short', `${fleetKey}\n${fleetKey}\n${fleetKey}`, `${fleetKey}x`])(
    'a key file with mistakes: %j',
    (file) => {
      expect(() => hubKeys(file)).toThrow(expect.objectContaining({ code: 'fleet_key_unusable' }));
    },
  );

  test('carries an event, and refuses headers that no agent wrote', () => {
    const message = {
      mac: 'm1',
      epoch: 'e1',
      row: 7,
      previousRow: 6,
      previousSequence: 0,
      type: 'message.received',
      id: eventId('m1', 'e1', 'G7'),
      instance: 'i',
      isMetadata: false,
    };
    const { headers, body } = encodeEvent(message, '{"type":"x"}', agent);
    headers.set(HEADERS.messageId, message.id);
    expect(readEventHeaders('ev.m1', headers)).toEqual(message);
    expect(openEvent(message, headers.get(HEADERS.key), body, hub)).toBe('{"type":"x"}');
    expect(readEventHeaders('ev.m 1', headers)).toBeUndefined();
    expect(readEventHeaders('ev.m1', undefined)).toBeUndefined();
    for (const [name, value] of [
      [HEADERS.row, '-1'],
      [HEADERS.row, '9'.repeat(30)],
      [HEADERS.epoch, 'a b'],
      [HEADERS.type, ''],
      [HEADERS.version, '2'],
    ] as const) {
      const before = headers.get(name);
      headers.set(name, value);
      expect(readEventHeaders('ev.m1', headers)).toBeUndefined();
      headers.set(name, before);
    }
  });
});

describeWithNats('with a broker', () => {
  let server: NatsServer;
  const folder = temporaryFolder();
  const log = collectingLog();
  const host = { clock: systemClock, log };
  const connectTo = (name: string) =>
    new FleetConnection({ servers: [server.url], keyFile: '', caFile: '' }, { ...host, name });
  const connected = (connection: FleetConnection) => new Promise<void>((resolve) => void connection.onConnect(resolve));

  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1']);
  });
  afterAll(() => server.dispose());

  test('an answer takes as many messages as needed, and a problem or a missing Mac becomes a problem', async () => {
    const [agent, hub] = [connectTo('m1'), connectTo('hub-1')];
    await Promise.all([connected(agent), connected(hub)]);
    const envelope = new Envelope();
    const question = { mac: 'm1', operation: 'message' as const, timeoutMs: 5000 };
    await expect(ask(hub, envelope, systemClock, { ...question, request: {} })).rejects.toMatchObject({
      code: 'mac_away',
    });

    const text = 'x'.repeat(3_000_000);
    const answers = (message: Msg): void => {
      const request = readQuestion(message, 'm1', 'message', envelope) as { id: string };
      const reply = request.id === '7' ? { result: { text } } : { problem: toProblem(problem('message_not_found')) };
      respond(message, 'm1', 'message', reply, envelope);
    };
    agent.nc.subscribe(readSubject('m1', 'message'), { callback: (_, message) => answers(message) });
    await agent.nc.flush();
    expect(await ask(hub, envelope, systemClock, { ...question, request: { id: '7' } })).toEqual({ text });
    await expect(ask(hub, envelope, systemClock, { ...question, request: { id: '8' } })).rejects.toMatchObject({
      code: 'message_not_found',
      status: 404,
    });
    await Promise.all([agent.close(), hub.close()]);
  });

  test('a connection survives a restart of the server, and keeps trying if there was none', async () => {
    const connection = connectTo('m1');
    await connected(connection);
    let connections = 0;
    connection.onConnect(() => (connections += 1));
    const lost = new Promise<void>((resolve) => void connection.onDisconnect(resolve));
    await server.stop();
    await lost;
    expect(connection.isConnected).toBe(false);
    const late = connectTo('m2');
    expect(() => late.nc).toThrow(expect.objectContaining({ code: 'broker_away' }));
    await server.launch();
    await connected(late);
    await connected(connection);
    expect(connections).toBeGreaterThan(0);
    await Promise.all([connection.close(), late.close()]);
  });

  test('an unusable key file is reported, and the client keeps trying', async () => {
    const keyFile = join(folder, 'seed');
    writeFileSync(keyFile, 'not a seed');
    const connection = new FleetConnection({ servers: [server.url], keyFile, caFile: '' }, { ...host, name: 'm1' });
    const soon = new Promise<void>((resolve) => void systemClock.after(1, resolve));
    await soon;
    expect(connection.trouble).toContain('fleet.key_file');
    expect(JSON.stringify(log.lines)).not.toContain('not a seed');
    await connection.close();
  });
});
