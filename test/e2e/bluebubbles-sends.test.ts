import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BlueBubblesClient, type Enveloped } from '../support/bluebubbles-client.ts';
import { limitedKey } from '../support/limited-key.ts';
import { freePort, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
/** Somebody who is only reached by SMS. */
const DAN = '+15550188';
/** Somebody nobody has written to yet. */
const EVE = '+15550199';
const ROOM = 'any;+;chat77';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let client: BlueBubblesClient;
let port: number;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'hello' });
  await mac.command({ do: 'receive', from: DAN, text: 'green', service: 'SMS' });
  await mac.command({ do: 'group', identifier: 'chat77', participants: [ANA, DAN], name: 'Garden' });
  port = await freePort();
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { bluebubbles: { port } },
  });
  const everyone = { scopes: ['read', 'send'], read: '*', send: '*', approval: 'never', caps: { per_minute: 60 } };
  client = new BlueBubblesClient(port, (await limitedKey(service, everyone)).key);
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const guidOf = ({ envelope }: Enveloped) => (envelope.data as { readonly guid: string }).guid;
const chatOf = ({ envelope }: Enveloped) =>
  (envelope.data as { readonly chats: readonly { readonly guid: string }[] }).chats[0]?.guid;
const file = (more: Readonly<Record<string, string>>, name = 'blob') => {
  const form = new FormData();
  form.set('chatGuid', `iMessage;-;${ANA}`);
  for (const [field, value] of Object.entries(more)) form.set(field, value);
  form.set('attachment', new Blob(['picture']), name);
  return client.upload('message/attachment', form);
};

describe('the prefix iMessage;-;', () => {
  test('that clients write before every address goes to the conversation with that address, by its service', async () => {
    for (const chatGuid of [`iMessage;-;${DAN}`, `imessage;-;+1 (555) 01-88`]) {
      const answer = await client.post('message/text', { chatGuid, message: `by ${chatGuid}` });
      expect([answer.status, chatOf(answer)]).toEqual([200, `any;-;${DAN}`]);
      expect(mac.calls.at(-1)?.values).toMatchObject({ SERVICE: 'SMS' });
    }
    const created = await client.post('chat/new', { addresses: [`iMessage;-;${DAN}`], message: 'new' });
    expect(guidOf(created)).toBe(`any;-;${DAN}`);
  });

  test('before a group’s id is the group, and an unknown group is no person', async () => {
    for (const chatGuid of ['iMessage;-;chat77', 'iMessage;+;chat77', 'any;-;chat77', 'chat77', ROOM]) {
      const answer = await client.post('message/text', { chatGuid, message: `to ${chatGuid}` });
      expect([chatGuid, answer.status, chatOf(answer)]).toEqual([chatGuid, 200, ROOM]);
      expect(guidOf(await client.get(`chat/${encodeURIComponent(chatGuid)}`))).toBe(ROOM);
    }
    const before = mac.calls.length;
    for (const chatGuid of ['iMessage;-;chat999', 'iMessage;+;chat999', 'any;+;chat999', 'chat999']) {
      expect(await client.post('message/text', { chatGuid, message: 'x' })).toMatchObject({
        status: 400,
        envelope: { status: 400, error: { message: expect.stringMatching(/^Chat does not exist!/) } },
      });
    }
    expect(mac.calls).toHaveLength(before);
  });
});

test('a client that walks through all conversations before each send, as OpenClaw does, is not slowed down', async () => {
  const own = await freePort();
  const { chatDbPath, osascriptPath } = mac;
  const settings = { bluebubbles: { port: own }, server: { rate_limit_per_minute: 60 } };
  const usual = await Service.here({ chatDbPath, osascriptPath, settings });
  try {
    const limits = { scopes: ['read', 'send'], read: '*', send: '*', approval: 'never', caps: { per_minute: 60 } };
    const openClaw = new BlueBubblesClient(own, (await limitedKey(usual, limits)).key);
    // The key may make 30 requests in a minute. Each send has three.
    const statuses: number[] = [];
    for (let send = 0; send < 13; send += 1) {
      for (let offset = 0, count = 1; count > 0; offset += 500) {
        const { status, envelope } = await openClaw.post('chat/query', { limit: 500, offset, with: ['participants'] });
        statuses.push(status);
        count = (envelope.data as readonly unknown[] | undefined)?.length ?? 0;
      }
      const sent = await openClaw.post('message/text', { chatGuid: `any;-;${ANA}`, message: `walked ${send}` });
      statuses.push(sent.status);
    }
    expect(statuses).toEqual(Array.from({ length: 39 }, () => 200));
  } finally {
    await usual.dispose();
  }
});

describe('chat/new', () => {
  test('names the stored conversation once there is one, and until then an id that a send accepts', async () => {
    const first = await client.post('chat/new', { addresses: ['+1 (555) 01-99'] });
    expect(guidOf(first)).toBe(`any;-;${EVE}`);
    const sent = await client.post('message/text', { chatGuid: guidOf(first), message: 'first' });
    expect(chatOf(sent)).toBe(`any;-;${EVE}`);
    const again = await client.post('chat/new', { addresses: [EVE] });
    expect(again.envelope.data).toMatchObject({ guid: chatOf(sent), originalROWID: expect.any(Number) });
  });

  test('says nothing of conversations to a key that may only send', async () => {
    const { key } = await limitedKey(service, { scopes: ['send'], send: [ANA], approval: 'never' });
    const { envelope } = await new BlueBubblesClient(port, key).post('chat/new', { addresses: [ANA] });
    expect(envelope.data).toMatchObject({ guid: `any;-;${ANA}`, originalROWID: null });
  });
});

describe('what needs the private API', () => {
  test.each([
    ['effectId', 'com.apple.messages.effect.CKConfettiEffect'],
    ['subject', 'A subject'],
    ['selectedMessageGuid', 'ABC'],
  ])('%s is refused with a text, with a file and with a new chat, and nothing is sent', async (name, value) => {
    const before = mac.calls.length;
    const body = { chatGuid: `any;-;${ANA}`, addresses: [ANA], message: 'x', [name]: value };
    const answers = [
      await client.post('message/text', body),
      await client.post('chat/new', body),
      await file({ [name]: value }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 500,
        envelope: { error: { type: 'iMessage Error', message: expect.stringMatching(`${name}.*private API`) } },
      });
    }
    expect(mac.calls).toHaveLength(before);
    const empty = { ...body, [name]: '', tempGuid: null };
    expect((await client.post('message/text', empty)).status).toBe(200);
  });
});

describe('a file', () => {
  const lastFile = () => mac.calls.at(-1)?.values.ATTACHMENT?.split('/').at(-1);

  test('has the name of the form’s field, made safe, and else that of its part', async () => {
    expect((await file({ name: 'Garten Kamera é (1).jpg' }, 'Garten%20Kamera.jpg')).status).toBe(200);
    expect(lastFile()).toBe('Garten Kamera é (1).jpg');
    expect((await file({ name: '../..\\.ssh/..hidden\u0007.png' })).status).toBe(200);
    expect(lastFile()).toBe('hidden.png');
    expect((await file({ name: ' ' }, 'part.jpg')).status).toBe(200);
    expect(lastFile()).toBe('part.jpg');
  });

  test('with a caption is sent after it, whichever field has it, and two captions are refused', async () => {
    const before = mac.calls.length;
    const caption = 'The garden today';
    // OpenClaw writes it into all three fields.
    expect((await file({ caption, message: caption, text: caption, name: 'a.jpg' })).status).toBe(200);
    expect((await file({ text: 'Once more', name: 'b.jpg' })).status).toBe(200);
    const parts = mac.calls.slice(before).map(({ values }) => values.BODY ?? values.ATTACHMENT?.split('/').at(-1));
    expect(parts).toEqual([caption, 'a.jpg', 'Once more', 'b.jpg']);
    expect(await file({ caption: 'one', text: 'another' })).toMatchObject({ status: 400 });
    expect(mac.calls).toHaveLength(before + 4);
  });
});
