import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually, waitFor } from '../support/eventually.ts';
import { type Listener, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { ABSENT } from '../support/temporary.ts';

const ANA = '+15550100';
const files = mkdtempSync(join(tmpdir(), 'postern-files-'));
const photo = join(files, 'photo 1.jpg');
const note = join(files, 'nöte.txt');
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let listener: Listener;
let group: string;

interface Sent {
  readonly id: string;
  readonly guid: string;
  readonly conversation_id: string;
  readonly body: string;
  readonly status: string;
  readonly attachments: readonly string[];
}

beforeAll(async () => {
  writeFileSync(photo, 'a photo');
  writeFileSync(note, 'a note');
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'hello' });
  ({ guid: group } = await mac.command<{ guid: string }>({
    do: 'group',
    identifier: 'chat77',
    participants: [ANA, '+15550101'],
    name: 'Garden',
  }));
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { send: { confirm_ms: 3000 } },
  });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
  rmSync(files, { recursive: true, force: true });
});
beforeEach(async () => {
  listener = await service.socket();
});
afterEach(async () => {
  await mac.command({ do: 'scenario', name: 'none' });
  await listener.close();
});

const send = (body: Readonly<Record<string, unknown>>, headers: Record<string, string> = {}) =>
  service.post('/messages', body, headers);
const lastCall = () => {
  const call = mac.calls.at(-1);
  if (call === undefined) throw new Error('osascript was not called');
  return call;
};

describe('a message', () => {
  test('that was answered with 201 is in GET /events at once', async () => {
    for (const body of ['one', 'two', 'three']) {
      const { id } = (await send({ recipient: ANA, body })).json as Sent;
      const events = (await service.get(`/events?after=${Number(id) - 1}`)).json as { data: Sent }[];
      expect(events.map(({ data }) => data.id)).toContain(id);
    }
  });

  test('to a known address is 201 with its Message, and message.sent follows with the same id', async () => {
    const answer = await send({ recipient: ANA, body: 'On my way' });
    expect(answer.status).toBe(201);
    const message = answer.json as Sent;
    expect(message).toMatchObject({
      conversation_id: `any;-;${ANA}`,
      body: 'On my way',
      is_from_me: true,
      attachments: [],
    });
    expect(answer.headers.get('location')).toBe(`messages/${message.id}`);
    const event = await listener.event(({ data }) => data.id === message.id);
    expect(event).toMatchObject({ type: 'message.sent', data: { guid: message.guid, body: 'On my way' } });
    await eventually(async () =>
      expect(((await service.get(`/messages/${message.id}`)).json as Sent).status).toBe('read'),
    );
  });

  test('in Markdown goes out as plain text, and is confirmed by that', async () => {
    const body = '# Dinner\n\n* *fresh* bread\n* [menu](https://example.com/a_b)\n\n2 * 3 * 4';
    const sent = 'Dinner\n\n- fresh bread\n- menu (https://example.com/a_b)\n\n2 * 3 * 4';
    expect((await send({ recipient: ANA, body, format: 'plain', dry_run: true })).json).toMatchObject({ text: body });
    expect((await send({ recipient: ANA, body, format: 'markdown', dry_run: true })).json).toMatchObject({
      text: sent,
    });
    const answer = await send({ recipient: ANA, body, format: 'markdown' });
    expect(answer).toMatchObject({ status: 201, json: { body: sent } });
    expect(lastCall().values.BODY).toBe(sent);
    const empty = await send({ recipient: ANA, body: '[1]: https://example.com', format: 'markdown' });
    expect(empty).toMatchObject({ status: 400, json: { errors: [{ pointer: '/body' }] } });
    expect(await send({ recipient: ANA, body, format: 'html' })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '/format', message: '`format` must be "plain" or "markdown".' }] },
    });
  });

  test.each([`any;-;${ANA}`, `iMessage;-;${ANA}`, `SMS;-;${ANA}`])('to a conversation, spelt %s', async (recipient) => {
    const answer = await send({ recipient, body: `to ${recipient}` });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ conversation_id: `any;-;${ANA}` });
    expect(lastCall().values.CHAT_ID).toBe(`any;-;${ANA}`);
  });

  test('to a bare identifier goes to the group that has it, and is refused if none has', async () => {
    expect((await send({ recipient: 'chat77', body: 'bare' })).json).toMatchObject({ conversation_id: group });
    const before = mac.calls.length;
    const unknown = await send({ recipient: 'chat78', body: 'to nobody' });
    expect([unknown.status, unknown.json]).toMatchObject([
      400,
      { code: 'unknown_conversation', errors: [{ pointer: '/recipient' }] },
    ]);
    expect(mac.calls).toHaveLength(before);
  });

  test('to a group', async () => {
    const answer = await send({ recipient: group, body: 'to all' });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ conversation_id: group });
  });

  test('leaves its request id in every log line it causes', async () => {
    expect((await send({ recipient: ANA, body: 'traced' }, { 'X-Request-Id': 'trace-7' })).status).toBe(201);
    const traced = () => service.output.split('\n').filter((line) => line.includes('trace-7'));
    await eventually(() => expect(traced().length).toBe(2));
    expect(traced().map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['sent', 'request']);
  });

  test('to somebody never written to', async () => {
    const answer = await send({ recipient: 'new@example.com', body: 'first' });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ conversation_id: 'any;-;new@example.com' });
  });

  test.each(['Garden', 'not a number at all'])(
    'to a name is refused before Messages is asked: %s',
    async (recipient) => {
      const answer = await send({ recipient, body: 'anybody?' });
      expect(answer).toMatchObject({ status: 400, json: { code: 'recipient_is_name' } });
    },
  );

  test('to a number that is no address Messages refuses', async () => {
    const answer = await send({ recipient: '12', body: 'anybody?' });
    expect(answer).toMatchObject({ status: 502, json: { code: 'send_failed', messages_error: -1728 } });
  });

  test.each([
    ['emoji and joiners', 'Grüße 👩‍👩‍👧‍👦 日本語 مرحبا'],
    ['lines', 'one\ntwo\r\nthree\rfour\u2028five'],
    ['quotes', `"double" 'single' \`back\` \\slash\\ “curly”`],
    ['shell', '$(touch /tmp/x) `id` ; rm -rf / && $HOME %s'],
    ['AppleScript', '" & (do shell script "id") & "\nend tell\n¬ «event»'],
    ['control characters', 'tab\there, bell\u0007, escape\u001b[31m'],
    ['a long one', 'ä'.repeat(20_000)],
  ])('arrives byte for byte: %s', async (_name, body) => {
    const answer = await send({ recipient: ANA, body });
    expect(Buffer.from(lastCall().bytes.BODY ?? '', 'hex').toString('utf8')).toBe(body);
    expect(answer.status).toBe(201);
  });

  test('reaches osascript as one constant file, with nothing else in its environment', async () => {
    await send({ recipient: ANA, body: 'look' });
    const first = lastCall();
    await send({ recipient: group, body: 'other' });
    expect(lastCall().arguments).toEqual(first.arguments);
    expect(first.arguments).toHaveLength(1);
    expect(first.arguments[0]).toMatch(/send\.applescript$/);
    const known = ['LANG', 'POSTERN_BODY', 'POSTERN_CHAT_ID', 'POSTERN_RECIPIENT', 'POSTERN_SERVICE'];
    // Variables that the stand-in's shell adds.
    const ofTheShell = ['OLDPWD', 'PWD', 'SHLVL', '_'];
    expect(first.environment.filter((name) => !ofTheShell.includes(name))).toEqual(known);
  });
});

describe('attachments', () => {
  test('go out after the body, one run each; the Message is the body’s', async () => {
    const before = mac.calls.length;
    const answer = await send({ recipient: ANA, body: 'two files', attachments: [photo, note] });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ body: 'two files' });
    const values = mac.calls.slice(before).map((call) => call.values.BODY ?? call.values.ATTACHMENT);
    expect(values).toEqual(['two files', photo, note]);
  });

  test('alone: the Message is the first one’s', async () => {
    const answer = await send({ recipient: ANA, body: '', attachments: [photo] });
    expect(answer.status).toBe(201);
    const message = answer.json as Sent;
    expect(message.body).toBe('');
    expect(message.attachments).toHaveLength(1);
    expect(message.attachments[0]).toMatch(/photo 1\.jpg$/);
  });

  test.each([
    [{}, ['/body', '/recipient']],
    [{ recipient: '', body: 7 }, ['/body', '/recipient']],
    [{ recipient: ' ', body: '' }, ['/body', '/recipient']],
    [{ recipient: 'x'.repeat(513), body: 'y'.repeat(20_001) }, ['/body', '/recipient']],
    [{ recipient: 'a\u0000b', body: 'nul\u0000' }, ['/body', '/recipient']],
    [{ recipient: 'line\nbreak', body: 'lone \ud800 surrogate' }, ['/body', '/recipient']],
    [
      { recipient: ANA, body: '', attachments: ['relative', ABSENT, files] },
      ['/attachments/0', '/attachments/1', '/attachments/2'],
    ],
    [{ recipient: ANA, body: 'x', attachments: 'photo' }, ['/attachments']],
    [{ recipient: ANA, body: 'x', attachments: Array<string>(11).fill(photo) }, ['/attachments']],
    [{ recipient: 7, body: 'x', attachments: [ABSENT] }, ['/attachments/0', '/recipient']],
  ])('refusal %#: every mistake is named, and nothing runs', async (body, pointers) => {
    const before = mac.calls.length;
    const answer = await send(body);
    expect(answer.status).toBe(400);
    const { errors } = answer.json as { errors: readonly { pointer: string }[] };
    expect([...new Set(errors.map(({ pointer }) => pointer))].sort()).toEqual(pointers);
    expect(mac.calls).toHaveLength(before);
  });

  test('the database itself, the configuration and the state can never be sent, under no name', async () => {
    const link = join(files, 'innocent.txt');
    symlinkSync(mac.chatDbPath, link);
    const own = ['config.toml', 'state.db'].map((name) => join(service.configFolder, name));
    const attachments = [mac.chatDbPath, `${mac.chatDbPath}-wal`, link, ...own];
    const answer = await send({ recipient: ANA, body: '', attachments });
    expect(answer.status).toBe(400);
    expect((answer.json as { errors: unknown[] }).errors).toHaveLength(attachments.length);
  });
});

describe('when Messages', () => {
  test.each([
    ['fails without saying whether it sent', 'refused', 504, 'send_outcome_unknown'],
    ['may not be automated', 'not_permitted', 503, 'messages_unavailable'],
    ['loses the connection', 'connection_lost', 504, 'send_outcome_unknown'],
    ['does not answer the event', 'timed_out', 504, 'send_outcome_unknown'],
  ] as const)('%s', async (_name, scenario, status, code) => {
    for (const language of ['en', 'de', 'ja'] as const) {
      const before = mac.calls.length;
      await mac.command({ do: 'scenario', name: scenario, language });
      const answer = await send({ recipient: ANA, body: 'x' });
      expect([answer.status, (answer.json as { code: string }).code]).toEqual([status, code]);
      expect(mac.calls).toHaveLength(before + 1); // never again by itself
    }
  });

  test('reports an error and writes the row a moment later: the message was sent', async () => {
    await mac.command({ do: 'scenario', name: 'refused', goesOut: true, rowAfterMs: 300 });
    const answer = await send({ recipient: ANA, body: 'sent all the same' });
    expect([answer.status, (answer.json as Sent).body]).toEqual([201, 'sent all the same']);
  });

  test.each(['connection_lost', 'timed_out', 'crash'] as const)(
    'lets go of the line (%s) when the message is on its way: 504, its event comes, the same key never sends it again',
    async (scenario) => {
      const listener = await service.socket();
      await mac.command({ do: 'scenario', name: scenario, goesOut: true });
      const body = `${scenario} all the same`;
      const key = { 'idempotency-key': `goes-out-${scenario}` };
      const first = await send({ recipient: ANA, body }, key);
      expect([first.status, (first.json as { code: string }).code]).toEqual([504, 'send_outcome_unknown']);
      await waitFor(() => listener.events.some(({ data }) => 'body' in data && data.body === body));
      const calls = mac.calls.length;
      const again = await send({ recipient: ANA, body }, key);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([504, 'true']);
      expect(mac.calls).toHaveLength(calls);
      // Another send of the same text is matched to its own row, not to that of the send whose outcome is unknown.
      const other = (await send({ recipient: ANA, body })).json as Sent;
      const rows = ((await service.get('/messages?limit=20')).json as Sent[]).filter((sent) => sent.body === body);
      expect(rows).toHaveLength(2);
      expect(rows[0]?.id).toBe(other.id);
      await listener.close();
    },
  );

  test('is not running and takes three seconds to come up, it is opened, waited for and asked once more', async () => {
    await mac.command({ do: 'quit', startupMs: 3000 });
    const before = mac.calls.length;
    expect((await send({ recipient: ANA, body: 'wake up' })).status).toBe(201);
    const calls = mac.calls.slice(before);
    expect(calls.slice(0, 2).map(({ tool }) => tool)).toEqual(['osascript', 'open']);
    expect(calls.filter(({ values }) => values.BODY === 'wake up')).toHaveLength(2);
  });

  test('succeeds without a row, the answer is 202 with a provisional Message', async () => {
    await mac.command({ do: 'scenario', name: 'nothing' });
    const answer = await send({ recipient: ANA, body: 'into the void' });
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({
      id: '',
      guid: '',
      conversation_id: '',
      status: 'pending',
      body: 'into the void',
    });
    expect(answer.headers.get('location')).toBeNull();
  });

  test('makes a ghost row, that is not taken for the message', async () => {
    await mac.command({ do: 'scenario', name: 'ghost' });
    expect((await send({ recipient: ANA, body: 'boo' })).status).toBe(202);
  });

  test('writes to a new conversation beside the group that was meant, the answer says so and names it', async () => {
    await mac.command({ do: 'scenario', name: 'misdirected' });
    const key = { 'idempotency-key': 'stray-1' };
    const answer = await send({ recipient: group, body: 'astray' }, key);
    expect(answer.status).toBe(502);
    const problem = answer.json as { message_id: string; conversation_id: string; code: string };
    expect(problem).toMatchObject({ code: 'misdirected', conversation_id: 'any;-;chat77' });
    const row = await service.get(`/messages/${problem.message_id}?include=details`);
    expect(row.json).toMatchObject({
      body: 'astray',
      details: { origin: { by: 'gateway', idempotency_key: 'stray-1' } },
    });
    expect((await send({ recipient: group, body: 'astray' }, key)).json).toEqual(problem);
  });

  test('accepts a message and then cannot deliver it, its status says so', async () => {
    await mac.command({ do: 'scenario', name: 'error_22' });
    const { id } = (await send({ recipient: ANA, body: 'to a landline' })).json as Sent;
    await eventually(async () => expect(((await service.get(`/messages/${id}`)).json as Sent).status).toBe('failed'));
  });
});

describe('sends', () => {
  test('go one at a time, in order of arrival, and equal texts pair first with first', async () => {
    const before = mac.calls.length;
    const bodies = ['one', 'same', 'same', 'four'];
    const answers = await Promise.all(bodies.map((body) => send({ recipient: ANA, body })));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    // Another script may run between them, which asks for the permission.
    expect(mac.calls.slice(before).flatMap((call) => call.values.BODY ?? [])).toEqual(bodies);
    const rows = answers.map(({ json }) => Number((json as Sent).id));
    expect(rows).toEqual(rows.toSorted((a, b) => a - b));
    expect(new Set(rows).size).toBe(4);
  });

  test('with an Idempotency-Key happen once', async () => {
    const key = { 'idempotency-key': 'order-17' };
    const first = await send({ recipient: ANA, body: 'only once' }, key);
    const before = mac.calls.length;
    const again = await send({ recipient: ANA, body: 'only once' }, key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect((again.json as Sent).id).toBe((first.json as Sent).id);
    expect((await send({ recipient: ANA, body: 'something else' }, key)).status).toBe(422);
    expect(mac.calls).toHaveLength(before);
    expect((await send({ recipient: ANA, body: 'x' }, { 'idempotency-key': 'ü' })).status).toBe(400);
  });

  test('with a key whose send is running is 409; interrupted by a crash, its outcome is unknown forever', async () => {
    await service.becomeProcess();
    // Before its first send it checks whether it may control Messages.
    await send({ recipient: ANA, body: 'the first' });
    const key = { 'idempotency-key': 'order-18' };
    await mac.command({ do: 'scenario', name: 'hang' });
    const before = mac.calls.length;
    const hanging = send({ recipient: ANA, body: 'hanging' }, key).catch(() => undefined);
    await eventually(() => expect(mac.calls.length).toBe(before + 1));
    expect((await send({ recipient: ANA, body: 'hanging' }, key)).status).toBe(409);
    await service.kill();
    await hanging;
    await service.launch();
    const after = await send({ recipient: ANA, body: 'hanging' }, key);
    expect([after.status, (after.json as { code: string }).code]).toEqual([409, 'send_outcome_unknown']);
    expect(mac.calls).toHaveLength(before + 1);
  });

  test('keep working while chat.db is away', async () => {
    const folder = join(mac.homeFolder, 'Library/Messages');
    renameSync(folder, `${folder}.away`);
    await eventually(async () =>
      expect(((await service.get('/health')).json as { backend: { connected: boolean } }).backend.connected).toBe(
        false,
      ),
    );
    const answer = await send({ recipient: ANA, body: 'blind' });
    expect([answer.status, (answer.json as Sent).status]).toEqual([202, 'pending']);
    rmSync(folder, { recursive: true, force: true });
    renameSync(`${folder}.away`, folder);
    mkdirSync(folder, { recursive: true });
    await waitFor(
      async () => ((await service.get('/health')).json as { backend: { connected: boolean } }).backend.connected,
    );
  });
});
