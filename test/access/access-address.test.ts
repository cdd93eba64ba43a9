import { describe, expect, test } from '@jest/globals';
import { addressTag, isUnanswerable, normalAddress, rightsAddress } from '../../src/core/model/address.ts';
import { destinationOf, personId } from '../../src/core/model/destination.ts';
import type { ChatMembers } from '../../src/core/model/ports/directory-ports.ts';
import { closedGroups, isSameGroup, mayRead, maySend } from '../../src/features/access/policy.ts';

const ANA = '+15550100';

describe('one spelling of an address', () => {
  test.each([
    ['+15550100', ANA],
    ['+1 (555) 01-00', ANA],
    ['+1.555.0100', ANA],
    ['Ana.Silva+x@Example.ORG', 'ana.silva+x@example.org'],
    ['+15550100(filtered)', ANA],
    ['+15550100(smsft_rm)(smsft)', ANA],
    ['ana@example.org(smsfp)', 'ana@example.org'],
    ['＋１５５５０１００', ANA],
    ['+١٥٥٥٠١٠٠', ANA],
    ['\u202a+1\u00a0555\u20110100\u202c', ANA],
    [' ana@example.org ', 'ana@example.org'],
    ['+49 (0)30 12345', '+493012345'],
    ['+44-(0)20 79460958', '+442079460958'],
    ['+39 (0)6 12345678', '+390612345678'],
  ])('%s is %s', (typed, canonical) => {
    expect(rightsAddress(typed)).toBe(canonical);
    expect(rightsAddress(canonical)).toBe(canonical);
  });

  test.each([
    ['no plus', '15550100'],
    ['a short code', '262966'],
    ['a name', 'Ana Silva'],
    ['a zero-width space', '+1555\u200b0100'],
    ['a tab', '+1555\t0100'],
    ['a line break at its end', '+15550100\n'],
    ['two pluses', '++15550100'],
    ['a leading zero', '+01555010'],
    ['too long', '+1234567890123456'],
    ['a Cyrillic a', 'аna@example.org'],
    ['the Kelvin sign', '\u212aim@example.org'],
    ['a dotless i', 'anı@example.org'],
    ['a domain in other letters', 'ana@exаmple.org'],
    ['a display name', 'Ana <ana@example.org>'],
    ['two addresses', 'ana@example.org,ben@example.org'],
    ['a space', 'ana @example.org'],
    ['no domain', 'ana@localhost'],
    ['a chat id', 'any;-;+15550100'],
    ['a URL', 'tel:+15550100'],
    ['an extension', '+15550100;ext=5'],
    ['nothing', ''],
    ['a tag that Apple does not write', '+15550100(smsfx)'],
    ['a tag in the middle', '+1555(smsft)0100'],
    ['a tag before another remark', '+15550100(smsft)(work)'],
    ['a mark of direction in a mail address', '\u202eana@example.org'],
  ])('%s is none', (_what, typed) => {
    expect(rightsAddress(typed)).toBeUndefined();
  });

  test('no text that is not the address itself, its punctuation or its case ever gives it', () => {
    const letters = ['\u200b', '\u00ad', '\u0301', '\ufe0f', '\0', 'а', '１', ';', '\n', '%', '"'];
    for (const address of [ANA, 'ana@example.org']) {
      for (const letter of letters) {
        for (let at = 0; at <= address.length; at += 1) {
          const typed = address.slice(0, at) + letter + address.slice(at);
          expect([typed, rightsAddress(typed)]).not.toEqual([typed, address]);
        }
      }
    }
  });

  test.each([
    ['22395(smsft)', '22395'],
    ['AXBNK-S(smsft_fi)', 'axbnk-s'],
    ['(800) 275-2273', '8002752273'],
    ['(smsft)', ''],
    ['Ana@Localhost', 'ana@localhost'],
    ['\u212aim@example.org', '\u212aim@example.org'],
    ['urn:biz:0f7c', 'urn:biz:0f7c'],
    ['१२३४५', '12345'],
    ['', ''],
  ])('%j is compared as %j', (stored, normal) => {
    expect(normalAddress(stored)).toBe(normal);
    expect(normalAddress(normal)).toBe(normal);
  });

  test('a tag of Apple’s filters has a name, the last one decides', () => {
    const tagged = ['+15550100(filtered)', '22395(smsft_rm)(smsft)', 'AXBNK-S(ft_or)', '(800) 275-2273', '1(x)'];
    expect(tagged.map(addressTag)).toEqual(['filtered', 'smsft', 'ft_or', undefined, undefined]);
  });

  test('a sender’s or a person’s name cannot be answered; a number, a mail address and a business can', () => {
    const known = ['+15550100', '22395(smsft)', 'ana@example.org', 'urn:biz:0f7c', 'AXBNK-S', 'Ana Silva'];
    expect(known.map(isUnanswerable)).toEqual([false, false, false, false, true, true]);
  });

  test('an id of a person names a known service and one address', () => {
    expect(personId('SMS;-;+15550100')).toEqual({ address: ANA, id: 'SMS;-;+15550100' });
    for (const id of ['evil;-;+15550100', 'any;+;+15550100', 'any;-;Ana', 'any;-;', ';-;+15550100']) {
      expect(personId(id)).toBeUndefined();
    }
  });

  test('a group is the same whatever service its id names, and no person is one', () => {
    expect(isSameGroup('any;+;chat7', 'iMessage;+;chat7')).toBe(true);
    for (const other of ['any;+;chat77', 'any;-;chat7', 'chat7', 'any;+;Chat7']) {
      expect(isSameGroup('any;+;chat7', other)).toBe(false);
    }
  });
});

describe('who may be read and written to', () => {
  const person = (guid: string, ...members: string[]): ChatMembers => ({ guid, isGroup: false, members });
  const group = (guid: string, ...members: string[]): ChatMembers => ({ guid, isGroup: true, members });
  const list = [{ address: ANA }, { group: 'any;+;chat7', members: [ANA, '+15550101'] }];
  const sendable = (recipient: string, ...chats: ChatMembers[]): boolean => {
    const destination = destinationOf(recipient, chats);
    return destination !== undefined && maySend(list, destination);
  };

  test('an empty list allows nobody', () => {
    expect(mayRead([], person('any;-;+15550100', ANA))).toBe(false);
    const destination = destinationOf(ANA, []);
    expect(destination && maySend([], destination)).toBe(false);
  });

  test('a conversation is judged by its member: an id with the number of somebody else opens nothing', () => {
    expect(mayRead(list, person('any;-;+15550100', '+15550166'))).toBe(false);
    expect(mayRead(list, person('any;-;+15550166', ANA))).toBe(true);
    // Messages may take the id for an address, so both must be Ana's.
    expect(sendable('any;-;+15550100', person('any;-;+15550100', '+15550166'))).toBe(false);
    expect(sendable('any;-;+15550166', person('any;-;+15550166', ANA))).toBe(false);
    expect(sendable('any;-;+15550100', person('any;-;+15550100', ANA))).toBe(true);
  });

  test('a group whose members are all listed one by one stays closed', () => {
    expect(mayRead(list, group('any;+;chat8', ANA))).toBe(false);
    expect(sendable('any;+;chat8', group('any;+;chat8', ANA))).toBe(false);
  });

  test('a listed group takes sends until somebody joins who was not in it when it was listed', () => {
    expect(sendable('any;+;chat7', group('any;+;chat7', ANA, '+15550101'))).toBe(true);
    expect(sendable('any;+;chat7', group('any;+;chat7', ANA))).toBe(true);
    expect(sendable('any;+;chat7', group('any;+;chat7', ANA, '+15550101', '+15550166'))).toBe(false);
    expect(sendable('any;+;chat7', group('any;+;chat7'))).toBe(false);
    // On another service the group has somebody else.
    expect(sendable('any;+;chat7', group('any;+;chat7', ANA), group('iMessage;+;chat7', '+15550166'))).toBe(false);
    expect(mayRead(list, group('any;+;chat7', ANA, '+15550166'))).toBe(true);
    expect(closedGroups(list, () => [group('any;+;chat7', ANA, '+15550166')])).toEqual([
      { conversation_id: 'any;+;chat7', joined: ['+15550166'] },
    ]);
  });

  test('where there is no conversation yet, only the canonical address itself is somebody', () => {
    expect(sendable(ANA)).toBe(true);
    expect(sendable('SMS;-;+15550100')).toBe(true);
    for (const recipient of ['Ana', '15550100', 'any;+;chat7', 'foo;-;+15550100', 'any;-;+15550100x']) {
      expect(sendable(recipient)).toBe(false);
    }
  });

  test('a group that no key can read is no destination, even by its full id', () => {
    expect(destinationOf('any;+;chat9', [group('any;+;chat9')])).toBeUndefined();
  });
});
