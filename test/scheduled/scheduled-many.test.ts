import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DeferredSend } from '../../src/core/model/ports/deferral-ports.ts';
import { KEPT_FILES } from '../../src/core/sender/checked-attachments.ts';
import { SCHEDULED } from '../../src/features/scheduled/port.ts';
import { AccessSending, ANA } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

const HOUR = 60 * 60_000;
const folder = temporaryFolder();
const photo = join(folder, 'outbox', 'photo.png');
let service: AccessSending;
beforeAll(() => {
  mkdirSync(join(folder, 'outbox'));
  writeFileSync(photo, 'picture');
  service = new AccessSending(folder, { roots: [join(folder, 'outbox')] });
});
afterAll(() => service.close());

function schedule(inMs: number, keyId: string, attachments: readonly string[] = []): Promise<DeferredSend> {
  const sendAtMs = service.clock.now() + inMs;
  const request = { recipient: ANA, body: 'later', attachments, sendAtMs, sendUntilMs: sendAtMs + HOUR };
  return service.scheduler.add(request, { keyId });
}

test('with 500 sends of others before it, a scheduled send keeps its files, is listed, and is the newest when it has ended', async () => {
  const caller = service.caller();
  const keyId = caller.key?.id ?? '';
  await schedule(HOUR, 'another');
  service.state.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 499)
    INSERT INTO scheduled SELECT NULL, 'copy-' || i, key_id, state, recipient, members, is_approved, text, attachments,
      options, request_id, send_at_ms, send_until_ms, created_ms, begun_ms, ended_ms, message_id, problem
    FROM scheduled, n`);
  const { id } = await schedule(2 * HOUR, keyId, [photo]);
  const listed = () => caller.port(SCHEDULED).list({});
  expect(listed().map((one) => one.id)).toEqual([id]);
  await service.access.start();
  expect(existsSync(join(folder, 'config', KEPT_FILES, id))).toBe(true);
  service.state.exec(`UPDATE scheduled SET state = 'sent', ended_ms = send_at_ms`);
  const sent = service.scheduled.list({ state: 'sent' });
  expect([sent.length, sent.at(-1)?.id]).toEqual([500, id]);
});
