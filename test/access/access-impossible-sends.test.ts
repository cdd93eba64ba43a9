import { afterAll, describe, expect, test } from '@jest/globals';
import type { AppError } from '../../src/core/model/errors.ts';
import type { SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { AccessSending } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

const service = new AccessSending(temporaryFolder());
afterAll(() => service.close());

describe('a send that can only fail', () => {
  const HOUR = 60 * 60_000;
  const impossible = (nowMs: number): readonly (readonly [readonly string[], Partial<SendRequest>])[] => [
    [['/body'], { body: '\ufffc' }],
    [['/send_at', '/send_until'], { sendAtMs: nowMs - HOUR, sendUntilMs: nowMs - 2 * HOUR }],
    [
      ['/send_at', '/body'],
      { sendAtMs: nowMs + 400 * 24 * HOUR, sendUntilMs: nowMs + 401 * 24 * HOUR, body: '\ufffd' },
    ],
  ];
  async function mistakes(work: Promise<unknown>): Promise<unknown> {
    return work.catch((error: AppError) => error.mistakes.map(({ pointer }) => pointer));
  }

  test.each(['always', 'never'] as const)('is refused with all its mistakes, with approval: %s', async (approval) => {
    for (const [pointers, request] of impossible(service.clock.now())) {
      for (const dryRun of [false, true]) {
        const sent = service.send(service.caller({ approval }), { ...request, dryRun });
        expect([request, await mistakes(sent)]).toEqual([request, pointers]);
      }
    }
    expect(await service.approvals.list({ waitMs: 0 })).toEqual([]);
  });

  test('is refused in the same way for the owner', async () => {
    for (const [pointers, request] of impossible(service.clock.now())) {
      for (const dryRun of [false, true]) {
        const sent = service.send({ sender: service.ownerSender }, { ...request, dryRun });
        expect([request, await mistakes(sent)]).toEqual([request, pointers]);
      }
    }
  });
});

test('equal requests are one held send, however much longer the checks of one take', async () => {
  const caller = service.caller({ approval: 'always' });
  const check = service.sender.check.bind(service.sender);
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let isSecond = false;
  service.sender.check = async (...given) => {
    if (isSecond) await released;
    isSecond = true;
    return check(...given);
  };
  const first = service.hold(caller);
  const second = service.hold(caller);
  const { id } = await first;
  release();
  expect((await second).id).toBe(id);
});
