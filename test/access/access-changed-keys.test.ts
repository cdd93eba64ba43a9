import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../src/core/model/caller.ts';
import type { AppError } from '../../src/core/model/errors.ts';
import type { Scope } from '../../src/core/model/key.ts';
import { checkBody } from '../../src/core/schema/mistakes.ts';
import type { KeyChanges } from '../../src/features/access/ports.ts';
import { keyChangesBody } from '../../src/features/access/schema/key-schema.ts';
import { AccessSending, ANA, BEN, codeOf, GARDEN } from '../support/access-sending.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: AccessSending;
beforeEach(() => {
  service = new AccessSending(temporaryFolder());
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

describe('a group of a key that somebody joined', () => {
  const JOINED = { conversation_id: GARDEN, joined: ['+15550166'] };

  /** Adds people to the group. */
  function join(...addresses: readonly string[]): void {
    const { chats } = service;
    const garden = Number(chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(GARDEN)?.[0]);
    for (const address of addresses) chats.participant(garden, chats.handle(address));
  }

  test('stays closed when its list is written again, with another entry', () => {
    const id = idOf(service.caller({ send: [GARDEN] }));
    join('+15550166');
    expect(service.access.keys.change(id, { send: [GARDEN, ANA] })).toMatchObject({
      send: [GARDEN, ANA],
      closed: [JOINED],
    });
  });

  test('opens for exactly those whom the owner names', () => {
    const id = idOf(service.caller({ send: [GARDEN, ANA] }));
    join('+15550166', '+15550167');
    expect(service.access.keys.change(id, { opens: [JOINED] })).toMatchObject({
      send: [GARDEN, ANA],
      closed: [{ conversation_id: GARDEN, joined: ['+15550167'] }],
    });
    expect(service.access.keys.change(id, { opens: [{ ...JOINED, joined: ['+15550167'] }] }).closed).toEqual([]);
  });

  test('is listed again with its members of now once it was taken off the list', () => {
    const id = idOf(service.caller({ send: [GARDEN] }));
    join('+15550166');
    service.access.keys.change(id, { send: [] });
    expect(service.access.keys.change(id, { send: [GARDEN] }).closed).toEqual([]);
  });

  test('is not opened if the list does not have it', () => {
    const id = idOf(service.caller({ send: [ANA] }));
    expect(() => service.access.keys.change(id, { opens: [JOINED] })).toThrow('`send` does not list this group.');
    expect(service.access.keys.get(id).send).toEqual([ANA]);
  });
});

describe('the mistakes in a key are named together', () => {
  const pointers = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return (error as AppError).mistakes.map(({ pointer }) => pointer);
    }
  };

  test('those in the scopes and lists of a new one', () => {
    const settings = { read: ['Ana'], send: [ANA, 'Ben'] };
    const add = () => service.access.keys.add({ name: 'a', preset: undefined, scopes: ['send', 'approve'], settings });
    expect(pointers(add)).toEqual(['/scopes', '/read/0', '/send/1']);
  });

  test('those in the lists and the opened groups of a change', () => {
    const id = idOf(service.caller({ send: [ANA] }));
    const change = () =>
      service.access.keys.change(id, { read: ['Ana'], opens: [{ conversation_id: GARDEN, joined: [] }] });
    expect(pointers(change)).toEqual(['/read/0', '/opens/0']);
  });

  test('those in the form of opened groups, in words', () => {
    const checked = checkBody(keyChangesBody, { opens: [1, { conversation_id: 2 }] });
    expect(checked).toMatchObject({
      mistakes: Array(3).fill({ message: expect.stringMatching(/^A closed group has/) }),
    });
  });
});

test('a check of a key says that it may read somebody only if it may read at all', () => {
  const checked = (scopes: readonly Scope[]) => {
    const { key } = service.caller({ scopes, read: [ANA] });
    return service.access.keys.check(key?.id ?? '', ANA);
  };
  expect(checked(['read'])).toMatchObject({ read: true, send: 'refused', reason: 'scope_missing' });
  expect(checked(['send'])).toMatchObject({ read: false, send: 'allowed', reason: null });
});
