import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Answers } from '../../src/features/fleet/agent/answers.ts';
import { Macs } from '../../src/features/fleet/hub/macs.ts';
import { Call } from '../../src/features/fleet/protocol/call.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { envelopeOf, parseMembership } from '../../src/features/fleet/protocol/membership.ts';
import { ask, type MacAnswer, type Question, readRequest, who } from '../../src/features/fleet/protocol/requests.ts';
import { answerSubject, requestSubject, WHO } from '../../src/features/fleet/protocol/subjects.ts';
import { waitFor } from '../support/eventually.ts';
import { KEY } from '../support/fleet-mac.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';
import { collectingLog } from '../support/log.ts';

const HEAD = { method: 'GET', headers: {}, isOwner: true };

describeWithNats('a request through the broker', () => {
  let fleet: TestFleet;
  let hub: FleetConnection;
  const ends: (() => unknown)[] = [];

  beforeAll(async () => {
    fleet = await TestFleet.start(['m7', 'm8', 'm9']);
    hub = await fleet.hub();
  });

  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  afterAll(() => fleet.close());

  const asking = (clock = systemClock) => ({ connection: hub, envelope: fleet.envelope, clock });
  const question = (path: string, rest: Partial<Question> = {}) => ({ ...HEAD, member: 'm7', path, ...rest });

  /** Answers as the machine of m7, with this in place of Postern's own service. */
  async function standIn(
    listener: RequestListener,
    { clock = systemClock, machine = 'one' } = {},
  ): Promise<FleetConnection> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const membership = parseMembership(fleet.folder.addMac('m7'));
    const log = collectingLog();
    const connection = new FleetConnection(() => membership, { clock: systemClock, log, name: `m7.${machine}` });
    connection.start();
    await waitFor(() => connection.isConnected);
    const report = { name: 'x', version: '1', sinceMs: 0, atMs: 0, row: 0, behind: 0, late: 0, problem: null };
    const answers = new Answers({
      ...{ member: 'm7', machine, connection, clock, log, ownerKey: 'owner' },
      envelope: () => envelopeOf(membership),
      serviceUrl: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      report: () => report,
    });
    answers.start();
    await connection.nc.flush();
    ends.push(() => {
      answers.stop();
      server.closeAllConnections();
      server.close();
      return connection.close();
    });
    return connection;
  }

  test('a hub reads a Mac as its owner, and passes on the refusal of a wrong key', async () => {
    const mac = fleet.mac('m8');
    await mac.start();
    ends.push(() => mac.stop());
    const row = mac.write('hello');
    await mac.published(row);
    const answer = await ask(asking(), question(`/api/v1/messages/${row}`, { member: 'm8' }));
    expect(answer).toMatchObject({ machine: 'one', status: 200 });
    expect(JSON.parse(await text(answer))).toMatchObject({ body: 'hello' });
    const [event] = await fleet.events('m8');
    const byId = await ask(asking(), question(`/api/v1/messages/${String(event?.event.data.id)}`, { member: 'm8' }));
    expect(JSON.parse(await text(byId))).toMatchObject({ id: String(row), body: 'hello' });
    const headers = { authorization: 'Bearer of-somebody-else' };
    const refused = await ask(asking(), question('/api/v1/messages', { member: 'm8', headers, isOwner: false }));
    expect(refused.status).toBe(401);
    await text(refused);
    const own = { 'x-api-key': KEY };
    const admitted = await ask(asking(), question('/api/v1/messages', { member: 'm8', headers: own, isOwner: false }));
    expect(admitted.status).toBe(200);
    await text(admitted);
  });

  test('an endless stream of one Mac is refused', async () => {
    const mac = fleet.mac('m8');
    await mac.start();
    ends.push(() => mac.stop());
    await mac.fleet(({ state }) => state === 'connected');
    const headers = { accept: 'text/event-stream' };
    await waitFor(async () => (await who(asking(), 50)).some(({ member }) => member === 'm8'));
    for (const path of ['/api/v1/events', '/api/v1/Events/?after=0']) {
      await expect(ask(asking(), question(path, { member: 'm8', headers }))).rejects.toMatchObject({
        code: 'fleet_stream',
      });
    }
    const post = (path: string, body: object, more: Record<string, string> = {}) => {
      const sent = Readable.from([Buffer.from(JSON.stringify(body))]);
      const given = { ...headers, 'content-type': 'application/json', ...more };
      return question(path, { member: 'm8', method: 'POST', body: sent, headers: given, isOwner: path !== '/mcp' });
    };
    const made = await ask(asking(), post('/api/v1/keys', { name: 'a', preset: 'reader', read: '*' }));
    const { key } = JSON.parse(await text(made)) as { key: string };
    const method = 'subscriptions/listen';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { _meta, notifications: { resourceSubscriptions: ['postern://conversations/x'] } };
    const own = { 'x-api-key': key, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
    const listen = post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, own);
    await expect(ask(asking(), listen)).rejects.toMatchObject({ code: 'fleet_stream' });
  });

  test('a request that comes a second time, word for word, is refused, also after a restart', async () => {
    let count = 0;
    const counted: RequestListener = (_, response) => {
      count += 1;
      response.end('[]');
    };
    await standIn(counted);
    const operator = await fleet.operator();
    const heard: { readonly subject: string; readonly data: Uint8Array; readonly reply?: string | undefined }[] = [];
    const listening = operator.subscribe('>', {
      callback: (_, { subject, data, reply }) => void heard.push({ subject, data, reply }),
    });
    await operator.flush();
    expect(await text(await ask(asking(), question('/')))).toBe('[]');
    const at = heard.findIndex(({ subject }) => subject === requestSubject('m7'));
    const { data, reply = '' } = heard[at] ?? { data: new Uint8Array() };
    /** Returns the kind of each part that begins an answer. */
    const begun = (): readonly unknown[] =>
      heard.flatMap((message) => {
        if (message.subject !== reply) return [];
        try {
          return [fleet.envelope.open('m7', `${reply} 0`, message.data)[0]];
        } catch {
          return [];
        }
      });
    operator.publish(requestSubject('m7'), data, { reply });
    await waitFor(() => begun().length > 1);
    const [ACKNOWLEDGED, REFUSED] = [1, 7];
    expect(begun()).toEqual([ACKNOWLEDGED, REFUSED]);
    await ends.pop()?.();
    await standIn(counted);
    operator.publish(requestSubject('m7'), data, { reply });
    await waitFor(() => begun().length > 2);
    expect(begun()).toEqual([ACKNOWLEDGED, REFUSED, REFUSED]);
    expect(count).toBe(1);
    listening.unsubscribe();
    // Until the server knows it, it counts as somebody who might answer.
    await operator.flush();
  });

  test('a Mac without a machine is known at once to have got nothing', async () => {
    await expect(ask(asking(), question('/', { member: 'm9' }))).rejects.toMatchObject({ why: 'nobody' });
  });

  test('a machine that took the request and says nothing in two seconds is silent', async () => {
    const operator = await fleet.operator();
    const silent = operator.subscribe(requestSubject('m7', 'mute'));
    await operator.flush();
    await expect(ask(asking(), question('/', { machine: 'mute' }))).rejects.toMatchObject({ why: 'silent' });
    silent.unsubscribe();
  });

  test('a body passes in both directions, byte by byte the same', async () => {
    await standIn((request, response) => {
      response.writeHead(201, { 'content-type': 'application/octet-stream', 'set-cookie': ['a=1', 'b=2'] });
      request.pipe(response);
    });
    const sent = Buffer.alloc(3_000_000, 'abcdefghijk');
    const body = (async function* () {
      for (let at = 0; at < sent.length; at += 100_000) yield sent.subarray(at, at + 100_000);
    })();
    const answer = await ask(asking(), question('/echo', { method: 'POST', body }));
    expect(answer.status).toBe(201);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    const got: Uint8Array[] = [];
    for await (const piece of answer.body) got.push(piece);
    expect(Buffer.concat(got).equals(sent)).toBe(true);
  });

  test('a reader that stops holds the Mac up, and nothing else', async () => {
    let written = 0;
    await standIn((request, response) => {
      if (request.url === '/quick') return void response.end('quick');
      const piece = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (written < 100_000_000) {
          written += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const slow = await ask(asking(), question('/slow'));
    await slow.body.next();
    expect(await text(await ask(asking(), question('/quick')))).toBe('quick');
    const before = await settled(() => written);
    expect(before).toBeLessThan(20_000_000);
    slow.end();
    expect(await settled(() => written)).toBe(before);
  });

  test('an answer comes page by page, while the Mac still works on it', async () => {
    let goOn = (): void => {};
    await standIn((_request, response) => {
      response.write('first ');
      goOn = () => response.end('second');
    });
    const answer = await ask(asking(), question('/'));
    expect(String(Buffer.from((await answer.body.next()).value ?? []))).toBe('first ');
    goOn();
    expect(await text(answer)).toBe('second');
  });

  test('a hub that gives up ends the request at the Mac', async () => {
    let isClosed = false;
    const controller = new AbortController();
    await standIn((request) => {
      request.on('close', () => (isClosed = true));
      controller.abort();
    });
    const asked = ask(asking(), question('/', { signal: controller.signal }));
    await expect(asked).rejects.toThrow();
    await waitFor(() => isClosed);
  });

  test('a machine that ends within its answer is noticed', async () => {
    let end = (): void => {};
    await standIn((_request, response) => {
      response.write('half');
      end = () => void response.destroy();
    });
    const answer = await ask(asking(), question('/'));
    expect(String(Buffer.from((await answer.body.next()).value ?? []))).toBe('half');
    end();
    await expect(text(answer)).rejects.toThrow();
  });

  test.each([
    ['a minute late', 61_000],
    ['from the future', -6000],
  ])('a request %s is refused', async (_name, ms) => {
    await standIn((_request, response) => response.end(), { clock: { ...systemClock, now: () => Date.now() + ms } });
    await expect(ask(asking(), question('/'))).rejects.toMatchObject({ code: 'clock_differs' });
  });

  test('the same request is answered once, even if the broker repeats it', async () => {
    let count = 0;
    await standIn((_request, response) => {
      count += 1;
      response.end();
    });
    const operator = await fleet.operator();
    const subscription = operator.subscribe(requestSubject('m7', 'one'));
    const copied = (async () => {
      for await (const message of subscription) return message;
      throw new Error('unreachable');
    })();
    await operator.flush();
    await text(await ask(asking(), question('/', { machine: 'one' })));
    const message = await copied;
    operator.publish(message.subject, message.data, { reply: message.reply ?? '' });
    await operator.flush();
    await text(await ask(asking(), question('/', { machine: 'one' })));
    expect(count).toBe(2);
  });

  test('a lying Mac speaks only for itself, and its nonsense is refused', async () => {
    const connection = await standIn((_request, response) => response.end());
    await connection.nc.flush();
    connection.nc.subscribe('rq.all.who', {
      callback: (_error, { data }) => {
        const id = Buffer.from(data).toString();
        const report = { member: 'm8', machine: 'evil', name: 'x', version: '1', problem: null };
        const numbers = { sinceMs: 0, atMs: 0, row: 1, behind: 0, late: 0 };
        for (const member of ['m7', 'm8']) {
          const sealed = envelopeOf(parseMembership(fleet.folder.addMac('m7')));
          const subject = `an.${member}.${id}`;
          connection.nc.publish(subject, sealed.sealJson(member, subject, { ...report, ...numbers }));
        }
        connection.nc.publish(`an.m7.${id}`, Buffer.from('nonsense'));
      },
    });
    await connection.nc.flush();
    const reports = await who(asking(), 300);
    expect(new Set(reports.map(({ member }) => member))).toEqual(new Set(['m7']));
  });

  test.each([
    ['a status that is none', 'HTTP/1.1 099 No\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ])('a Mac that answers with %s is refused', async (_name, bytes) => {
    const connection = await standIn((_request, response) => response.end());
    const envelope = envelopeOf(parseMembership(fleet.folder.addMac('m7')));
    connection.nc.subscribe(requestSubject('m7', 'liar'), {
      callback: (_error, message) => {
        const { id } = readRequest(envelope, 'm7', message);
        const call = new Call({ connection, envelope, clock: systemClock, member: 'm7', id }, 'mac');
        call.acknowledge('liar');
        call.resume();
        call.write(bytes);
      },
    });
    await connection.nc.flush();
    await expect(ask(asking(), question('/', { machine: 'liar' }))).rejects.toMatchObject({
      code: 'mac_answer_invalid',
    });
  });

  test('a Mac that invents machines at each question uses no more memory at a hub', async () => {
    const connection = await standIn((_request, response) => response.end());
    const sealed = envelopeOf(parseMembership(fleet.folder.addMac('m7')));
    let made = 0;
    connection.nc.subscribe(WHO, {
      callback: (_error, { data }) => {
        const subject = answerSubject('m7', Buffer.from(data).toString());
        for (let index = 0; index < 50; index += 1, made += 1) {
          const numbers = { sinceMs: made, atMs: 0, row: 1, behind: 0, late: 0 };
          const report = { member: 'm7', machine: `made-up-${made}`, name: 'x', version: '1', problem: null };
          connection.nc.publish(subject, sealed.sealJson('m7', subject, { ...report, ...numbers }));
        }
      },
    });
    await connection.nc.flush();
    const macs = new Macs(asking());
    ends.push(() => macs.close());
    await waitFor(() => made >= 150 && macs.list().length > 0);
    expect(macs.list().flatMap(({ machines }) => machines).length).toBeLessThanOrEqual(8);
  });
});

async function text(answer: MacAnswer): Promise<string> {
  const got: Uint8Array[] = [];
  for await (const piece of answer.body) got.push(piece);
  return Buffer.concat(got).toString();
}

/** Returns a number once it has stopped changing. */
function settled(read: () => number): Promise<number> {
  let before = -1;
  let same = 0;
  return waitFor(() => {
    const now = read();
    same = now === before ? same + 1 : 0;
    before = now;
    return same > 10 && now;
  });
}
