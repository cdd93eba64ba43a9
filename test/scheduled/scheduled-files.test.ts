import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { KEPT_FILES } from '../../src/core/sender/checked-attachments.ts';
import { AccessSending, ANA, codeOf } from '../support/access-sending.ts';
import { eventually } from '../support/eventually.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const HOUR = 60 * 60_000;
let folder: string;
let photo: string;
let service: AccessSending;
beforeEach(() => {
  folder = temporaryFolder();
  photo = join(folder, 'outbox', 'photo.png');
  mkdirSync(join(folder, 'outbox'));
  writeFileSync(photo, 'picture');
  service = new AccessSending(folder, { roots: [join(folder, 'outbox')] });
});
afterEach(() => service.close());
const kept = (): readonly string[] => readdirSync(join(folder, 'config', KEPT_FILES));

test.each([
  ['another', 'idempotency_key_reused'],
  ['the same', 'none'],
])(
  '%s send under an Idempotency-Key that was taken while its files were copied leaves no copies',
  async (body, code) => {
    const sendAtMs = service.clock.now() + HOUR;
    const schedule = (body: string): Promise<unknown> =>
      service.scheduler.add(
        {
          ...{ recipient: ANA, body, attachments: [photo], sendAtMs, sendUntilMs: sendAtMs + HOUR },
          idempotencyKey: { kind: 'client', key: 'photo' },
        },
        { keyId: 'owner' },
      );
    const codes = await Promise.all([codeOf(schedule('the same')), codeOf(schedule(body))]);
    expect(codes.toSorted()).toEqual([code, 'none'].toSorted());
    expect(kept()).toEqual(service.scheduler.openIds());
  },
);

describe('the room for files', () => {
  /** Schedules a send with this caller, and stores another size for its file, of 7 bytes. */
  async function occupy(caller: Pick<Caller, 'sender'>, bytes: number): Promise<void> {
    expect(await codeOf(service.send(caller, scheduled()))).toBe('none');
    service.state.exec(`UPDATE scheduled SET attachments = json_set(attachments, '$[0].bytes', ${bytes})`);
  }
  function scheduled(): Partial<SendRequest> {
    const sendAtMs = service.clock.now() + HOUR;
    return { attachments: [photo], sendAtMs, sendUntilMs: sendAtMs + HOUR };
  }
  const held = (): Partial<SendRequest> => ({ attachments: [photo] });

  test('is half of it for limited keys, whether their sends are held or scheduled', async () => {
    const [agent, held] = [service.caller(), service.caller({ approval: 'always' })];
    await occupy(agent, 499_999_990);
    expect(await codeOf(service.send(held, { attachments: [photo] }))).toBe('none');
    expect(await codeOf(service.send(held, { attachments: [photo], body: 'again' }))).toBe('storage_full');
    expect(await codeOf(service.send(agent, { ...scheduled(), body: 'again' }))).toBe('storage_full');
    expect(await codeOf(service.send(service.owner, scheduled()))).toBe('none');
  });

  test.each([
    ['two scheduled sends', {}, {}],
    ['two held sends', { approval: 'always' }, { approval: 'always' }],
    ['a scheduled and a held send', {}, { approval: 'always' }],
  ] as const)('is not exceeded by %s that are copied at once', async (_, one, other) => {
    await occupy(service.caller(), 499_999_990);
    const codes = await Promise.all(
      [one, other].map((key) => codeOf(service.send(service.caller(key), 'approval' in key ? held() : scheduled()))),
    );
    expect(codes.toSorted()).toEqual(['none', 'storage_full']);
    expect(kept()).toHaveLength(2);
  });

  test('is not taken from the half of limited keys by a file of the owner', async () => {
    await occupy(service.owner, 600_000_000);
    expect(await codeOf(service.send(service.caller({ approval: 'always' }), { attachments: [photo] }))).toBe('none');
  });

  test.each(['scheduled', 'held'])('is not asked of a %s send without files, also if exceeded', async (how) => {
    await occupy(service.owner, 1_000_000_001);
    const caller = how === 'held' ? service.caller({ approval: 'always' }) : service.owner;
    const request = how === 'held' ? {} : scheduled();
    expect(await codeOf(service.send(caller, { ...request, attachments: [] }))).toBe('none');
  });

  test('counts an upload once while it is scheduled', async () => {
    await occupy(service.owner, 999_999_990);
    const uploads = service.uploads.of('owner');
    const content = (async function* () {
      yield Buffer.from('picture');
    })();
    const { id } = await uploads.add({ name: 'photo.png', mimeType: 'image/png', content });
    const request = { ...scheduled(), attachments: [], uploads: uploads.files([id]) };
    expect(await codeOf(service.send(service.owner, request))).toBe('none');
  });
});

test('an approved send that could not be stored is scheduled with its files at the next start', async () => {
  const sendAtMs = service.clock.now() + HOUR;
  const times = { sendAtMs, sendUntilMs: sendAtMs + HOUR };
  const held = await service.hold(service.caller({ approval: 'always' }), { attachments: [photo], ...times });
  // As if the disk were full once the decision is stored.
  service.state.exec(`CREATE TEMP TRIGGER sends AFTER INSERT ON scheduled BEGIN SELECT RAISE(ABORT, 'full'); END;
    CREATE TEMP TRIGGER ends AFTER UPDATE ON approval WHEN NEW.state <> 'approved' BEGIN SELECT RAISE(ABORT, 'full'); END`);
  await service.approve(held);
  service = await service.restarted();
  await service.access.start();
  service.scheduler.start();
  await service.clock.advance(HOUR);
  // Reading copies from the disk takes real time, and the send must begin before its time is over.
  await eventually(() => expect(service.texts()).toContain('hello'));
  await eventually(async () => {
    await service.clock.advance(1000);
    await idle();
    expect(service.scheduled.get(held.id)).toMatchObject({ state: 'sent' });
  });
  await service.scheduler.close();
});
