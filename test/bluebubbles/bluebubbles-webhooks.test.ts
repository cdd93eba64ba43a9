import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BlueBubblesClient } from '../support/bluebubbles-client.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Receiver } from '../support/receiver.ts';
import { freePort, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const CLIENT = { scopes: ['read', 'events', 'send', 'webhooks'], read: [ANA], send: [ANA], approval: 'never' };

interface Registered {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
}

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let client: BlueBubblesClient;
let keyId: string;
let port: number;
const receivers: Receiver[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'before' });
  port = await freePort();
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { bluebubbles: { port } },
  });
  const made = await limitedKey(service, CLIENT);
  keyId = made.id;
  client = new BlueBubblesClient(port, made.key);
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await service.dispose();
  await mac.dispose();
});

/** Registers as Hermes does, with the password in the receiver's URL. */
async function registered(
  answer?: Parameters<typeof Receiver.start>[0],
  wanted = ['new-message', 'updated-message'],
  at?: number,
): Promise<Receiver & { readonly hook: Registered }> {
  const receiver = await Receiver.start(answer, at);
  receivers.push(receiver);
  const url = `${receiver.url}?password=hunter%202&x=1`;
  const { envelope } = await client.post('webhook', { url, events: wanted });
  return Object.assign(receiver, { hook: envelope.data as Registered });
}

const events = ({ deliveries }: Receiver) =>
  deliveries.map(({ event }) => event as unknown as { type: string; data: Readonly<Record<string, unknown>> });
const texts = (receiver: Receiver) => events(receiver).map(({ data }) => data.text);

describe('a webhook', () => {
  test('comes back to the key that registered it byte for byte, and masked everywhere else', async () => {
    const { hook } = await registered();
    expect(hook).toEqual({
      id: expect.any(String),
      url: expect.stringMatching(/\?password=hunter%202&x=1$/),
      events: ['new-message', 'updated-message'],
      created: expect.any(String),
    });
    expect((await client.get('webhook')).envelope.data).toContainEqual(hook);
    const stranger = new BlueBubblesClient(port, (await limitedKey(service, CLIENT)).key);
    expect((await stranger.get('webhook')).envelope.data).toEqual([]);
    expect(await stranger.request('DELETE', `webhook/${hook.id}`)).toMatchObject({ status: 404 });
    const everything = [
      (await service.get('/webhooks')).text,
      (await service.get(`/webhooks/${hook.id}`)).text,
      (await service.get(`/audit?key=${keyId}`)).text,
      (await service.get('/status')).text,
      service.output,
    ].join('\n');
    expect(everything).toContain(hook.id);
    expect(everything).not.toContain('hunter');
    expect((await service.get(`/webhooks/${hook.id}`)).json).toMatchObject({ url: expect.stringMatching(/\?\*\*\*$/) });
    expect(await client.request('DELETE', `webhook/${hook.id}`)).toMatchObject({ status: 200 });
    expect((await client.get('webhook')).envelope.data).toEqual([]);
  });

  test('of the API is no webhook of this protocol, also for the key that has both', async () => {
    const { id, key } = await limitedKey(service, CLIENT);
    const settings = { url: 'http://127.0.0.1:9/', events: ['message.received'] };
    const { json } = await service.post('/webhooks', settings, { 'x-api-key': key });
    const webhook = (json as { readonly id: string }).id;
    const other = new BlueBubblesClient(port, key);
    expect((await other.get('webhook')).envelope.data).toEqual([]);
    expect(await other.request('DELETE', `webhook/${webhook}`)).toMatchObject({ status: 404 });
    expect((await service.get(`/webhooks/${webhook}`)).status).toBe(200);
    await service.request('DELETE', `/keys/${id}`);
  });

  test('that is registered again by a client that started again is one, not two', async () => {
    const { hook } = await registered();
    const again = await client.post('webhook', { url: hook.url, events: ['new-message'] });
    expect(again.envelope.data).toEqual({ ...hook, events: ['new-message'] });
    expect((await client.get('webhook')).envelope.data).toEqual([again.envelope.data]);
  });

  test('that the owner has paused stays paused when its client registers it again', async () => {
    const { hook } = await registered();
    const body = JSON.stringify({ enabled: false });
    const headers = { 'content-type': 'application/json' };
    expect((await service.request('PATCH', `/webhooks/${hook.id}`, { body, headers })).status).toBe(200);
    expect((await client.post('webhook', { url: hook.url, events: ['new-message'] })).status).toBe(200);
    expect((await service.get(`/webhooks/${hook.id}`)).json).toMatchObject({ enabled: false });
    await client.request('DELETE', `webhook/${hook.id}`);
  });

  test('goes to this machine, unless the owner names another host', async () => {
    const elsewhere = { url: 'http://nas.example:8123/hook', events: ['new-message'] };
    expect(await client.post('webhook', elsewhere)).toMatchObject({ status: 403 });
  });

  test('for something other than an address is refused', async () => {
    for (const url of ['javascript:alert(1)', 'x', '', 7, `http://127.0.0.1/${'a'.repeat(3000)}`]) {
      expect(await client.post('webhook', { url, events: ['new-message'] })).toMatchObject({ status: 400 });
    }
  });
});

describe('an event', () => {
  test('is a new-message in the form that clients read, and only of the key’s people', async () => {
    const receiver = await registered();
    await mac.command({ do: 'receive', from: BEN, text: 'of Ben' });
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'Kettle is on' });
    await eventually(() => expect(texts(receiver)).toEqual(['Kettle is on']));
    expect(events(receiver)[0]).toEqual({
      type: 'new-message',
      data: expect.objectContaining({
        originalROWID: row,
        guid: expect.any(String),
        text: 'Kettle is on',
        dateCreated: expect.any(Number),
        isFromMe: false,
        hasAttachments: false,
        attachments: [],
        handle: expect.objectContaining({ address: ANA }),
        chats: [expect.objectContaining({ guid: `any;-;${ANA}`, chatIdentifier: ANA, displayName: '' })],
        associatedMessageType: null,
        threadOriginatorGuid: null,
      }),
    });
  });

  test('of a reaction or an edit is left out, because clients take either for a message', async () => {
    const receiver = await registered();
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'first' });
    await eventually(() => expect(texts(receiver)).toEqual(['first']));
    await mac.command({ do: 'react', to: row, type: 2000, from: ANA });
    await mac.command({ do: 'edit', row, text: 'edited' });
    await mac.command({ do: 'receive', from: ANA, text: 'second' });
    await eventually(() => expect(texts(receiver)).toEqual(['first', 'second']));
  });

  test('has the subject, also of a message without a text', async () => {
    const receiver = await registered();
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'first' });
    for (const [at, text] of ['', 'at five'].entries()) {
      const values = { ROWID: row + 1 + at, guid: `SUBJECT-${at}`, handle_id: 1, service: 'iMessage', is_finished: 1 };
      const date = 800_000_000_000_000_000;
      await mac.command({ do: 'insert', table: 'message', values: { ...values, date, text, subject: 'Garden' } });
      await mac.command({
        do: 'insert',
        table: 'chat_message_join',
        values: { chat_id: 1, message_id: row + 1 + at, message_date: date },
      });
    }
    await eventually(() => expect(texts(receiver)).toEqual(['first', '', 'at five']));
    expect(events(receiver).map(({ data }) => data.subject)).toEqual([null, 'Garden', 'Garden']);
    await client.request('DELETE', `webhook/${receiver.hook.id}`);
  });

  test('of a file that Messages adds late is an updated-message with the file, for clients that ask for those', async () => {
    const receiver = await registered();
    const other = await registered(undefined, ['new-message']);
    const onlyLate = await registered(undefined, ['updated-message']);
    const all = await registered(undefined, ['*']);
    const attachment = { name: 'late.jpg', bytes: 100, afterMs: 5000 };
    await mac.command({ do: 'receive', from: ANA, text: 'look', attachment });
    await eventually(() => expect(events(receiver)).toHaveLength(2));
    expect(events(receiver)).toMatchObject([
      { type: 'new-message', data: { text: 'look', attachments: [] } },
      { type: 'updated-message', data: { text: 'look', attachments: [{ transferName: 'late.jpg' }] } },
    ]);
    await mac.command({ do: 'receive', from: ANA, text: 'next' });
    await eventually(() => expect(texts(other)).toEqual(['look', 'next']));
    await eventually(() => expect(texts(all)).toEqual(['look', 'look', 'next']));
    await eventually(() => expect(events(onlyLate)).toEqual([events(receiver)[1]]));
    for (const { hook } of [receiver, other, onlyLate, all]) await client.request('DELETE', `webhook/${hook.id}`);
  });

  test('of a message that Messages joins late to its conversation comes with the join', async () => {
    const receiver = await registered();
    const { row: earlier } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'earlier' });
    const [chat, handle] = [1, 1];
    const row = earlier + 1;
    const values = { ROWID: row, guid: 'LATE-JOIN', text: 'joined late', handle_id: handle, service: 'iMessage' };
    await mac.command({
      do: 'insert',
      table: 'message',
      values: { ...values, date: 800_000_000_000_000_000, is_finished: 1 },
    });
    await mac.command({ do: 'receive', from: ANA, text: 'later' });
    await eventually(() => expect(texts(receiver)).toEqual(['earlier', 'later']));
    await mac.command({ do: 'insert', table: 'chat_message_join', values: { chat_id: chat, message_id: row } });
    await eventually(() => expect(texts(receiver)).toEqual(['earlier', 'later', 'joined late']));
    expect(events(receiver).at(-1)?.type).toBe('new-message');
    await client.request('DELETE', `webhook/${receiver.hook.id}`);
  });

  test('with a photo and a recording names the forms that clients can show, and the file that follows', async () => {
    const receiver = await registered();
    for (const name of ['IMG_1.HEIC', 'Audio Message.caf']) {
      await mac.command({ do: 'receive', from: ANA, text: '', attachment: { name, bytes: 100 } });
    }
    await eventually(() => expect(events(receiver)).toHaveLength(2));
    const attachments = events(receiver).flatMap(({ data }) => data.attachments as object[]);
    expect(attachments).toEqual([
      expect.objectContaining({ transferName: 'IMG_1.jpg', mimeType: 'image/jpeg', uti: 'public.jpeg' }),
      expect.objectContaining({ transferName: 'Audio Message.m4a', mimeType: 'audio/mp4' }),
    ]);
  });

  test('that a receiver answered with an error is not sent again, because it may have been taken', async () => {
    const receiver = await registered((response) => void response.writeHead(500).end());
    await mac.command({ do: 'receive', from: ANA, text: 'refused' });
    await mac.command({ do: 'receive', from: ANA, text: 'next' });
    await eventually(() => expect(texts(receiver)).toContain('next'));
    expect(texts(receiver)).toEqual(['refused', 'next']);
  });

  test.each([
    ['that nobody was there to take waits until somebody is', false],
    ['that waits is delivered although its client registers again meanwhile', true],
  ])('%s', async (_, registersAgain) => {
    const receiverPort = await freePort();
    const receiver = await registered(undefined, undefined, receiverPort);
    await receiver.close();
    await mac.command({ do: 'receive', from: ANA, text: 'while away' });
    await waitFor(async () => {
      const { attempts } = (
        (await service.get(`/webhooks/${receiver.hook.id}`)).json as { held?: { attempts?: number } }
      ).held ?? { attempts: 0 };
      return (attempts ?? 0) > 0;
    });
    if (registersAgain) await client.post('webhook', { url: receiver.hook.url, events: ['new-message'] });
    const again = await Receiver.start(undefined, receiverPort);
    receivers.push(again);
    await eventually(() => expect(texts(again)).toEqual(['while away']));
  });
});
