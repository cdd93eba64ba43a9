import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
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

test('an approved send that could not be stored is scheduled with its files at the next start', async () => {
  const sendAtMs = service.clock.now() + HOUR;
  const times = { sendAtMs, sendUntilMs: sendAtMs + HOUR };
  const held = await service.hold(service.caller({ approval: 'always' }), { attachments: [photo], ...times });
  // As if the disk were full once the decision is stored.
  service.state.exec(`CREATE TEMP TRIGGER sends AFTER INSERT ON scheduled BEGIN SELECT RAISE(ABORT, 'full'); END;
    CREATE TEMP TRIGGER ends AFTER UPDATE ON approval WHEN NEW.state <> 'approved' BEGIN SELECT RAISE(ABORT, 'full'); END`);
  await service.approvals.approve(held.id, held.shown);
  service = await service.restarted();
  await service.access.start();
  service.scheduler.start();
  await service.clock.advance(HOUR);
  // Reading copies from the disk takes real time.
  await eventually(async () => {
    await service.clock.advance(1000);
    await idle();
    expect(service.scheduled.get(held.id)).toMatchObject({ state: 'sent' });
  });
  await service.scheduler.close();
});
