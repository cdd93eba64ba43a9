// Removes each check of limited keys once and sees a test fail. Outside CI, because it takes minutes:
//   npm run build && node test/mutations/access.mjs [beginning of a name]
// One name a line with the test that noticed, or SURVIVED. It edits src/ and puts every file back; run it in a copy with nothing else going on.
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const UNIT = ['test/unit/access'];
const TAPBACKS = ['test/unit/access-tapbacks', 'test/unit/access-self-chat'];
const ATTACKS = ['test/e2e/access-attacks'];
const END_TO_END = ['test/e2e/access-keys', 'test/e2e/access-matrix', 'test/e2e/access-threats'];

/** Name, file, what stands there, what stands there without the check, and the tests that must notice. */
const MUTATIONS = [
  ['a route asks nobody for a scope', 'src/http/router.ts', 'assertAllowed(exchange.caller, access);', '', END_TO_END],
  [
    'any address is canonical',
    'src/domain/address.ts',
    'if (NUMBER.test(number)) return number;',
    'if (number !== "") return number;',
    UNIT,
  ],
  [
    'letters that look alike are letters',
    'src/domain/address.ts',
    'if (!/^[\\x21-\\x7e]+$/.test(text)) return undefined;',
    '',
    UNIT,
  ],
  [
    'every group may be read',
    'src/access/policy.ts',
    "if (chat.isGroup) return list.some((entry) => 'group' in entry && isSameGroup(entry.group, chat.guid));",
    'if (chat.isGroup) return true;',
    UNIT,
  ],
  [
    'a conversation is judged by its id',
    'src/access/policy.ts',
    'const address = onlyMember(chat);',
    "const address = chat.guid.slice(chat.guid.lastIndexOf(';') + 1);",
    UNIT,
  ],
  [
    'the id need not name the member',
    'src/access/policy.ts',
    'address === undefined || !isCertain',
    'address === undefined',
    UNIT,
  ],
  [
    'a group without known members is open',
    'src/access/policy.ts',
    'members.length === 0 || isClosed',
    'isClosed',
    UNIT,
  ],
  [
    'newcomers do not close a group',
    'src/access/policy.ts',
    ' && joinedSince(entry, destination.members).length === 0',
    '',
    UNIT,
  ],
  [
    'the send list is not asked',
    'src/access/rights.ts',
    'if (destination === undefined || !maySend(key.stored.send, destination))',
    'if (destination === undefined)',
    UNIT,
  ],
  [
    'files may come from anywhere',
    'src/access/limited-sender.ts',
    "throw problem('attachment_not_allowed');",
    '',
    UNIT,
  ],
  [
    'no caps',
    'src/access/limited-sender.ts',
    'if (askedMs === undefined) assertWithinCaps(auditStore, key, target, isNew, nowMs);',
    '',
    UNIT,
  ],
  [
    'no cap of all keys',
    'src/access/caps.ts',
    "assertBelow(dayOfAll, MAX_A_DAY_OF_ALL, 'in a day with all limited keys', nowMs);",
    '',
    UNIT,
  ],
  [
    'no cap of new people',
    'src/access/caps.ts',
    "if (isNew) assertBelow(newContacts, caps.new_contacts_per_day, 'to new people in a day', nowMs);",
    '',
    UNIT,
  ],
  [
    'a dry run sends',
    'src/access/limited-sender.ts',
    'if (key.dry_run || request.dryRun === true) {',
    'if (false as boolean) {',
    UNIT,
  ],
  [
    'nothing is held',
    'src/access/limited-sender.ts',
    'const waits = isHeld(key, isNew);',
    'const waits = isHeld(key, isNew) && key.id.length === 0;',
    UNIT,
  ],
  [
    'the same ask is another one',
    'src/access/limited-sender.ts',
    "if (earlier !== undefined && (ask.hasKey || earlier.state !== 'withdrawn')) {",
    'if (earlier !== undefined && (false as boolean)) {',
    UNIT,
  ],
  ['nothing is checked in the queue', 'src/sender/delivery.ts', 'request.check?.();', '', UNIT],
  [
    'a revoked key still sends from the queue',
    'src/access/rights.ts',
    "if (key === undefined || !key.isAlive(clock.now())) throw problem('recipient_not_allowed');",
    "if (key === undefined) throw problem('recipient_not_allowed');",
    UNIT,
  ],
  [
    'readers need not be those who were shown',
    'src/access/rights.ts',
    'members !== undefined && !areSameMembers(members, destination.members)',
    'members !== undefined && (false as boolean)',
    UNIT,
  ],
  [
    'anything shown is approved',
    'src/state/approvals.ts',
    'AND expires_ms > ? AND shown = ?`',
    "AND expires_ms > ? AND ? <> ''`",
    UNIT,
  ],
  [
    'a decision can be made twice',
    'src/state/approvals.ts',
    "WHERE id = ? AND state = 'held' AND expires_ms > ?",
    "WHERE id = ? AND state <> 'x' AND expires_ms > ?",
    UNIT,
  ],
  [
    'what has expired is not ended',
    'src/access/approvals.ts',
    "for (const id of store.due(clock.now())) this.#end(id, 'expired', null);",
    'void [store, clock];',
    UNIT,
  ],
  [
    'any number is held',
    'src/access/approvals.ts',
    "throw problem('too_many_held', { max: MAX_HELD });",
    'return;',
    UNIT,
  ],
  [
    'an altered copy is sent',
    'src/sender/held-files.ts',
    'if (hashes.every((found, index) => found === files[index]?.sha256)) return paths;',
    'if (hashes.length >= 0) return paths;',
    UNIT,
  ],
  [
    'an approval has no key of its own',
    'src/access/approved-sends.ts',
    'const idempotencyKey = ',
    'const idempotencyKey = Math.random() + ',
    UNIT,
  ],
  [
    'a held text is kept',
    'src/state/approvals.ts',
    '"UPDATE approval SET state = ?, text = NULL, decided_at',
    '"UPDATE approval SET state = ?, decided_at',
    UNIT,
  ],
  ['what a route refuses is not noted', 'src/domain/caller.ts', "caller.onRefused?.('scope_missing');", '', ATTACKS],
  [
    'any number of streams',
    'src/access/limited-key.ts',
    "if (this.#streams >= MAX_STREAMS) throw problem('too_many_streams', { max: MAX_STREAMS });",
    '',
    ATTACKS,
  ],
  ['a stream that ended still counts', 'src/streams/clients.ts', '        giveUp();\n', '', ATTACKS],
  [
    "somebody else's tapback decides",
    'src/access/tapbacks.ts',
    "if (event.type === 'reaction.added' && event.data.is_from_me)",
    "if (event.type === 'reaction.added')",
    TAPBACKS,
    'what counts is the own tapback that is on the message',
  ],
  [
    "somebody else's tapback is the owner's",
    'src/chatdb/owner.ts',
    'if (!isOwn || code < 2000',
    'if (code < 2000',
    TAPBACKS,
    'his own reaction row is what makes anybody look',
  ],
  [
    'a tapback that was taken back decides',
    'src/chatdb/owner.ts',
    'if (standing?.code === code - 1000) standing = undefined;',
    '',
    TAPBACKS,
  ],
  ['a tapback by SMS decides', 'src/access/tapbacks.ts', '!tapback.isIMessage || ', '', TAPBACKS],
  [
    'a tapback in any chat decides',
    'src/access/tapbacks.ts',
    " || !('conversation_id' in event.data) || event.data.conversation_id !== chat",
    " || !('conversation_id' in event.data)",
    TAPBACKS,
    'each of the two checks holds without the other',
  ],
  [
    'the tapback itself may be in any chat',
    'src/access/tapbacks.ts',
    '!tapback.isIMessage || tapback.conversationId !== chat',
    '!tapback.isIMessage',
    TAPBACKS,
    'each of the two checks holds without the other',
  ],
  [
    'an edited request is approved',
    'src/access/tapbacks.ts',
    ' && audit.hmac(message.body) === request.textHmac',
    '',
    TAPBACKS,
  ],
  [
    'anybody may write the request',
    'src/access/tapbacks.ts',
    'if (!isFromMe && memberKey(sender) !== address) return;',
    'void [isFromMe, sender, address];',
    TAPBACKS,
  ],
  [
    'any text is a request',
    'src/access/tapbacks.ts',
    'find((held) => this.#textOf(held) === body)',
    'find((held) => body.includes(held.id))',
    TAPBACKS,
  ],
  [
    'any reaction but 👎 sends',
    'src/access/tapbacks.ts',
    "if (tapback.type === 'thumbs_up') desk",
    "if (tapback.type !== 'thumbs_down') desk",
    TAPBACKS,
  ],
  [
    'a decided hold is written all the same',
    'src/access/tapbacks.ts',
    "if (state !== 'held') throw problem('already_decided', { state });",
    'void state;',
    TAPBACKS,
  ],
  [
    'a proof of another address holds',
    'src/access/self-chat.ts',
    'if (proof !== undefined && proof.address !== address) store.forget();',
    '',
    TAPBACKS,
  ],
  ['any code proves', 'src/access/self-chat.ts', "code.digits !== given.replaceAll(/\\s/g, '') || ", '', TAPBACKS],
  ['a code can be guessed', 'src/access/self-chat.ts', ' && code.wrong < MAX_WRONG_CODES', '', TAPBACKS],
  ['a code is good forever', 'src/access/self-chat.ts', ' && clock.monotonic() < code.untilMs', '', TAPBACKS],
  [
    'a code is written to anybody',
    'src/access/self-chat.ts',
    'if (!isKnown || resolve(directory, address) === undefined)',
    'if (resolve(directory, address) === undefined && !isKnown)',
    TAPBACKS,
  ],
  [
    'a self-chat may have other members',
    'src/access/self-chat.ts',
    'return destination?.address === address && destination.chats.includes(chat);',
    "return chat !== '' && destination !== null;",
    TAPBACKS,
  ],
  [
    'lists open the self-chat for sends',
    'src/access/policy.ts',
    'members.length === 0 || isClosed',
    'members.length === 0 && isClosed !== null',
    TAPBACKS,
  ],
  ['lists open the self-chat for reading', 'src/access/policy.ts', 'if (chat.isClosed) return false;', '', TAPBACKS],
  [
    'everything is everything',
    'src/access/readable.ts',
    'return this.isUnlisted && !this.#hasClosed;',
    'return this.isUnlisted;',
    TAPBACKS,
  ],
  ['a proof outlives chat.db', 'src/state/cursor.ts', 'forgetSelfChat(database);', '', TAPBACKS],
  [
    'keys see what others hold',
    'src/access/caller-approvals.ts',
    'return this.#mayDecide || key_id === this.#keyId;',
    "return this.#mayDecide || key_id !== '';",
    UNIT,
  ],
  [
    'the asker decides',
    'src/access/caller-approvals.ts',
    "if (!this.#mayDecide) throw problem('approval_not_found');",
    '',
    UNIT,
  ],
  [
    'a key both sends and approves',
    'src/access/keys.ts',
    "if (scopes.includes('approve') && scopes.includes('send'))",
    'if (false as boolean)',
    END_TO_END,
  ],
  [
    'any secret opens a key',
    'src/access/limited-key.ts',
    'return isPresent || isPrevious;',
    'return isPresent || isPrevious || hash.length > 0;',
    END_TO_END,
  ],
  [
    'keys never expire',
    'src/access/limited-key.ts',
    'return !this.#isRevoked && nowMs < this.expiresMs;',
    'return !this.#isRevoked && nowMs < Number.POSITIVE_INFINITY;',
    END_TO_END,
  ],
  [
    'one message can be read by its id',
    'src/access/limited-reader.ts',
    'if (message === undefined || !chats.has(message.conversation_id)) return undefined;',
    'if (message === undefined) return undefined;',
    END_TO_END,
  ],
  [
    'lists are of everything',
    'src/access/limited-reader.ts',
    'if (id === undefined) return { ...rest, conversationIds: chats.guids() };',
    'if (id === undefined) return rest;',
    END_TO_END,
    'the second filter behind it still holds, but pages are short',
  ],
  [
    'one conversation can be listed by its id',
    'src/access/limited-reader.ts',
    'const isThere = best !== undefined && chats.has(best.guid);',
    'const isThere = best !== undefined;',
    END_TO_END,
    'the second filter behind it still holds',
  ],
  [
    'one conversation can be read by its id',
    'src/access/limited-reader.ts',
    'if (conversation === undefined || !chats.has(conversation.id)) return undefined;',
    'if (conversation === undefined) return undefined;',
    END_TO_END,
  ],
  [
    'files of any message can be read',
    'src/access/limited-reader.ts',
    'return (await reader.message(id)) === undefined ? undefined : attachments.open(id, n, form);',
    'return reader === undefined ? undefined : attachments.open(id, n, form);',
    END_TO_END,
  ],
  [
    'every event is there',
    'src/access/readable.ts',
    "return 'conversation_id' in event.data && this.has(event.data.conversation_id);",
    "return 'conversation_id' in event.data;",
    END_TO_END,
  ],
  [
    'a narrowed list is not noticed',
    'src/access/readable.ts',
    'if (version === this.#version && list === this.#listed) return;',
    'if (version === this.#version) return;',
    END_TO_END,
  ],
  [
    'webhooks of others are there',
    'src/access/limited-webhooks.ts',
    'return keyId === this.#parts.keyId;',
    "return keyId !== '';",
    END_TO_END,
  ],
  [
    'webhooks go anywhere',
    'src/access/limited-webhooks.ts',
    "if (!isOnThisMachine(url)) throw problem('webhook_not_allowed');",
    '',
    END_TO_END,
  ],
  [
    'webhooks keep the user and password of before',
    'src/state/webhooks.ts',
    '  removeUserInfoOfKeys(database, clock);\n',
    '',
    ['test/e2e/webhook-passwords'],
  ],
  [
    'webhooks outlive the key',
    'src/webhooks/dispatcher.ts',
    'return keyId === null || this.#parts.callerOf?.(keyId) !== undefined;',
    'return true;',
    END_TO_END,
    'the worker asks for the key before each delivery too',
  ],
  [
    'a WebSocket outlives the key',
    'src/streams/clients.ts',
    "const cancel = caller.onEnd?.(() => socket.close('key_ended'));",
    'const cancel = caller.onEnd?.(() => undefined);',
    END_TO_END,
  ],
  [
    'agents use up the whole limit',
    'src/http/access-control.ts',
    'this.#keyLimit.count(key.id, headers);',
    'void [key, headers];',
    ATTACKS,
  ],
  [
    'two different keys are one',
    'src/http/api-keys.ts',
    '|| (bearer !== undefined && bearer !== given)',
    '',
    END_TO_END,
  ],
  ['backups hold what waits', 'src/state/backup.ts', '    endHeldSends(backup);\n', '', END_TO_END],
];

function run(command, args, env = {}) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } });
}

const wanted = process.argv[2] ?? '';
let survived = 0;
for (const [name, file, from, to, tests, note = ''] of MUTATIONS) {
  if (!name.startsWith(wanted)) continue;
  const path = `${root}${file}`;
  const original = readFileSync(path, 'utf8');
  const { atime, mtime } = statSync(path);
  if (original.split(from).length !== 2) {
    console.log(`| ${name} | ${file} | NOT FOUND |`);
    survived += 1;
    continue;
  }
  try {
    writeFileSync(
      path,
      original.replace(from, () => to),
    );
    if (tests.some((test) => test.startsWith('test/e2e'))) {
      // What does not compile any more is not what is to be seen, so the bundle alone is made.
      const { status, stderr } = run(process.execPath, ['build.mjs']);
      if (status !== 0) throw new Error(stderr);
    }
    utimesSync(path, atime, mtime);
    const { status, stderr } = run(
      process.execPath,
      ['node_modules/jest/bin/jest.js', '--maxWorkers=1', '--bail', ...tests],
      { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' },
    );
    const failed = /● (.*)/.exec(stderr)?.[1] ?? '';
    if (status === 0) survived += 1;
    console.log(`| ${name} | ${file} | ${status === 0 ? `SURVIVED ${note}` : failed} |`);
  } finally {
    writeFileSync(path, original);
    utimesSync(path, atime, mtime);
  }
}
run(process.execPath, ['build.mjs']);
process.exitCode = survived === 0 ? 0 : 1;
