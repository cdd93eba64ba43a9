import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { KeyChanges } from '../../src/features/access/ports.ts';
import { AccessSending, ANA, BEN, codeOf } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let folders = 0;
let service: AccessSending;
beforeEach(() => {
  folders += 1;
  service = new AccessSending(join(root, String(folders)));
});
afterEach(() => service.close());

const idOf = (caller: Caller): string => caller.key?.id ?? '';

/** Sends two texts, and changes the key while the first one is being sent. */
async function secondSend(caller: Caller, changes: KeyChanges): Promise<string> {
  const { behave } = service.messages;
  service.messages.behave = async (part, signal) => {
    if ('body' in part.content && part.content.body === 'first') service.access.keys.change(idOf(caller), changes);
    return behave(part, signal);
  };
  const first = service.send(caller, { body: 'first' });
  const second = codeOf(service.send(caller, { body: 'second' }));
  await first;
  return second;
}

describe('a send that waits for its turn while the owner changes its key', () => {
  test.each<[string, KeyChanges]>([
    ['the list no longer names the recipient', { send: [BEN] }],
    ['approval is switched on', { approval: 'always' }],
    ['dry run is switched on', { dry_run: true }],
  ])('%s: nothing goes out', async (_name, changes) => {
    expect(await secondSend(service.caller(), changes)).toBe('recipient_not_allowed');
    expect(service.texts()).toEqual(['first']);
  });

  test('goes out after a change that leaves it allowed', async () => {
    expect(await secondSend(service.caller(), { approval: 'new', send: [ANA, BEN], caps: { per_minute: 30 } })).toBe(
      'none',
    );
    expect(service.texts()).toEqual(['first', 'second']);
  });
});
