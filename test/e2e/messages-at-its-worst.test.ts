import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Scenario } from '../../src/features/simulator/commands.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let group: string;

interface Permission {
  readonly name: string;
  readonly state: string;
}

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'hello' });
  ({ guid: group } = await mac.command<{ guid: string }>({ do: 'group', identifier: 'chat77', participants: [ANA] }));
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterEach(async () => {
  await mac.command({ do: 'behave' });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const send = (recipient: string, body: string) => service.post('/messages', { recipient, body });
const ask = (body: Readonly<Record<string, unknown>>) => service.post('/messages', body);
const idsTried = (body: string) =>
  mac.calls.filter(({ values }) => values.BODY === body).map((one) => one.values.CHAT_ID);
const dialog = () => mac.command<{ isOpen: boolean; shown: number }>({ do: 'dialog' });

async function automation(): Promise<Permission | undefined> {
  const { json } = await service.request('POST', '/permissions/check');
  const { permissions } = json as { permissions: readonly Permission[] };
  return permissions.find(({ name }) => name === 'automation');
}

describe('a chat that Messages lists otherwise than chat.db', () => {
  test('a group under another prefix is reached', async () => {
    await mac.command({ do: 'behave', livePrefix: 'iMessage' });
    const answer = await send(group, 'to the group');
    expect([answer.status, (answer.json as { conversation_id: string }).conversation_id]).toEqual([201, group]);
    expect(idsTried('to the group')).toEqual(['any;+;chat77', 'iMessage;+;chat77']);
  });

  test('a group under a prefix that nobody knows is found in the live list', async () => {
    await mac.command({ do: 'behave', livePrefix: 'X' });
    expect((await send(group, 'to the list')).status).toBe(201);
    expect(idsTried('to the list').at(-1)).toBe('X;+;chat77');
  });

  test('a person who is not in the live list is reached as a participant, and a group is refused', async () => {
    await mac.command({ do: 'behave', liveList: 'people' });
    expect((await send(ANA, 'as a participant')).status).toBe(201);
    expect(idsTried('as a participant').at(-1)).toBe('');
    expect((await send(group, 'to nobody')).json).toMatchObject({ code: 'send_failed', messages_error: -1728 });
    expect(idsTried('to nobody').every((id) => id?.includes(';+;chat77'))).toBe(true);
  });

  test('a person whose chat id Messages cannot coerce is reached as a participant', async () => {
    await mac.command({ do: 'scenario', name: 'not_coerced' });
    expect((await send(ANA, 'by another form')).status).toBe(201);
    expect(idsTried('by another form')).toEqual([`any;-;${ANA}`, `iMessage;-;${ANA}`, '']);
  });

  test('a participant whose conversation Messages chooses itself: the Message is found there', async () => {
    await mac.command({ do: 'behave', liveList: 'people', chooses: { [ANA]: 'ana@example.com' } });
    const answer = await send(ANA, 'to the other address');
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ conversation_id: 'any;-;ana@example.com', body: 'to the other address' });
  });
});

describe('accounts', () => {
  test('one that is disabled is not used', async () => {
    await mac.command({ do: 'behave', liveList: 'people', accounts: [{ service: 'iMessage', isEnabled: false }] });
    expect((await send(ANA, 'x')).json).toMatchObject({ code: 'send_failed', messages_error: -1719 });
    const accounts = [false, true].map((isEnabled) => ({ service: 'iMessage', isEnabled }));
    await mac.command({ do: 'behave', liveList: 'people', accounts });
    expect((await send(ANA, 'by the second account')).status).toBe(201);
  });
});

describe('the question whether Postern may control Messages', () => {
  test('is on the screen once, however often it is asked, and ends with the answer', async () => {
    await mac.command({ do: 'behave', automation: 'asks' });
    const { shown } = await dialog();
    const checks = [automation(), automation()];
    await waitFor(async () => (await dialog()).isOpen);
    checks.push(automation());
    await mac.command({ do: 'answer', isAllowed: true });
    for (const report of await Promise.all(checks)) expect(report).toMatchObject({ state: 'granted' });
    expect(await dialog()).toEqual({ isOpen: false, shown: shown + 1 });
  });

  test('comes before the first send of a process, so that its dialog stays', async () => {
    await service.stop('SIGTERM');
    await service.launch();
    await mac.command({ do: 'behave', automation: 'asks' });
    const sending = send(ANA, 'after Allow was clicked');
    await waitFor(async () => (await dialog()).isOpen);
    expect(idsTried('after Allow was clicked')).toEqual([]);
    await mac.command({ do: 'answer', isAllowed: true });
    expect((await sending).status).toBe(201);
  });

  test('refused at once shows no dialog', async () => {
    await mac.command({ do: 'behave', automation: 'denied' });
    const { shown } = await dialog();
    expect(await automation()).toMatchObject({ state: 'denied' });
    expect((await dialog()).shown).toBe(shown);
  });

  test('taken back while the service runs is seen by the next send, and given again by the one after that', async () => {
    const known = async () => {
      const { permissions } = (await service.get('/status')).json as { permissions: readonly Permission[] };
      return permissions.find(({ name }) => name === 'automation')?.state;
    };
    expect((await send(ANA, 'while it is allowed')).status).toBe(201);
    expect(await known()).toBe('granted');
    await mac.command({ do: 'behave', automation: 'denied' });
    expect((await send(ANA, 'while it is not')).status).toBe(503);
    expect(await known()).toBe('denied');
    await mac.command({ do: 'behave', automation: 'granted' });
    expect((await send(ANA, 'while it is allowed again')).status).toBe(201);
    expect(await known()).toBe('granted');
  });

  test('is asked after Messages was opened, though that takes three seconds', async () => {
    await mac.command({ do: 'quit', startupMs: 3000 });
    expect(await automation()).toMatchObject({ state: 'granted' });
  });

  test('goes away from the screen with the service that asked', async () => {
    await mac.command({ do: 'behave', automation: 'asks' });
    const check = automation().catch(() => undefined);
    await waitFor(async () => (await dialog()).isOpen);
    await service.stop('SIGTERM');
    await check;
    await eventually(async () => expect((await dialog()).isOpen).toBe(false));
    await service.launch();
  });
});

describe('a message', () => {
  test('by a service that was asked for says which it was, and why', async () => {
    const detailsOf = async (body: object) => {
      const answer = await ask({ recipient: ANA, body: 'by', ...body });
      expect(answer.status).toBe(201);
      const { id, details } = answer.json as { readonly id: string; readonly details: object };
      const later = (await service.get(`/messages/${id}?include=details`)).json as { readonly details: object };
      expect(later.details).toMatchObject({
        ...('service_used' in details && { service_used: details.service_used }),
        ...('service_reason' in details && { service_reason: details.service_reason }),
      });
      return details;
    };
    expect(await detailsOf({ service: 'auto' })).toMatchObject({
      service_used: 'iMessage',
      service_reason: 'conversation',
    });
    expect(await detailsOf({ service: 'sms' })).toMatchObject({ service_used: 'SMS', service_reason: 'asked' });
    expect((await ask({ recipient: ANA, body: 'as ever' })).json).not.toHaveProperty('details');
    const refused = await ask({ recipient: group, body: 'x', service: 'rcs' });
    expect(refused).toMatchObject({ status: 400, json: { code: 'service_not_possible' } });
    const both = await ask({ recipient: ANA, body: 'x', service: 'rcs', fallback: 'sms' });
    expect(both).toMatchObject({ status: 400, json: { errors: [{ pointer: '/fallback' }] } });
  });

  test('falls back to SMS only where that was asked for, and never after an unknown outcome', async () => {
    const fails = (name: Scenario) => mac.command({ do: 'scenario', name });
    const bySms = { status: 201, json: { details: { service_used: 'SMS', service_reason: 'asked' } } };
    await fails('error_22');
    expect(await ask({ recipient: ANA, body: 'a failed row', fallback: 'sms' })).toMatchObject(bySms);
    await mac.command({ do: 'behave', accounts: [{ service: 'SMS', isEnabled: true }] });
    const nobody = '+15550177';
    expect(await ask({ recipient: nobody, body: 'no way', service: 'imessage' })).toMatchObject({ status: 502 });
    expect(await ask({ recipient: nobody, body: 'no way', service: 'imessage', fallback: 'sms' })).toMatchObject(bySms);
    await mac.command({ do: 'behave' });
    for (const [name, status] of [
      ['timed_out', 504],
      ['refused', 504],
    ] as const) {
      await fails(name);
      const before = mac.calls.length;
      expect(await ask({ recipient: ANA, body: name, fallback: 'sms' })).toMatchObject({ status });
      expect(mac.calls.length - before).toBe(1);
    }
  });
});
