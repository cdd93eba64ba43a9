import { afterAll, expect, test } from '@jest/globals';
import { SCHEDULED } from '../../src/features/scheduled/port.ts';
import { AccessSending, ANA, codeOf } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const service = new AccessSending(temporaryFolder());
await service.sender.start();
await service.access.start();
service.scheduler.start();
afterAll(async () => {
  await service.scheduler.close();
  await service.close();
});

test('what the phone sends later stands beside it, and is only shown', async () => {
  const own = service.scheduled;
  const chat = service.chats.chat('any;-;+15550177', ['+15550177']);
  const dateNs = BigInt(service.clock.now() + 30 * MINUTE - Date.UTC(2001, 0, 1)) * 1_000_000n;
  const columns = { chat, is_from_me: 1, schedule_type: 2, schedule_state: 2, is_sent: 0, date: dateNs };
  const row = service.chats.message({ ...columns, text: 'from the phone' });
  const sendAtMs = service.clock.now() + HOUR;
  const times = { sendAtMs, sendUntilMs: sendAtMs + HOUR };
  await service.ownerSender.send({ recipient: ANA, body: 'later', attachments: [], ...times });
  const phone = { id: `phone-${row}`, source: 'phone', key_id: null, to: 'any;-;+15550177', text: 'from the phone' };
  expect(own.list({})).toMatchObject([phone, { source: 'postern' }]);
  expect(own.list({ source: 'postern' })).toHaveLength(1);
  expect(own.list({ state: 'sent' })).toEqual([]);
  expect(own.get(`phone-${row}`)).toMatchObject(phone);
  expect(await codeOf((async () => own.cancel(`phone-${row}`))())).toBe('scheduled_on_phone');
  const seen = (key: Parameters<typeof service.caller>[0]) =>
    service
      .caller(key)
      .port(SCHEDULED)
      .list({})
      .map(({ id }) => id);
  expect(seen({ scopes: ['send'], read: '*' })).toEqual([]);
  expect(seen({ scopes: ['read', 'send'], read: [ANA] })).toEqual([]);
  const reads = { scopes: ['read', 'send'], read: ['+15550177'] } as const;
  expect(seen(reads)).toEqual([`phone-${row}`]);
  expect(service.access.audit.list({ limit: 1, isNewestFirst: true })).toMatchObject([
    { action: 'read', target: 'any;-;+15550177' },
  ]);
});

test('what the phone sends later in two conversations is seen only by those who may read both', async () => {
  const [one, other] = ['+15550187', '+15550188'];
  const chat = service.chats.chat(`any;-;${one}`, [one]);
  const row = service.chats.message({ chat, is_from_me: 1, schedule_type: 2, schedule_state: 2, is_sent: 0 });
  service.chats.join(service.chats.chat(`any;-;${other}`, [other]), row);
  const scheduled = (...read: string[]) => service.caller({ scopes: ['read', 'send'], read }).port(SCHEDULED);
  expect(scheduled(one).list({})).toEqual([]);
  expect(await codeOf((async () => scheduled(one).get(`phone-${row}`))())).toBe('scheduled_not_found');
  expect(scheduled(one, other).list({})).toMatchObject([{ id: `phone-${row}` }]);
});
