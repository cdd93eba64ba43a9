import { describe, expect, test } from '@jest/globals';
import type { NameSource } from '../../src/core/model/ports/names-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import { noContacts } from '../../src/features/contacts/no-contacts.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { callTool, openMcp } from '../support/mcp-gateway.ts';

const open = closedAfterEach((more: Parameters<typeof openMcp>[2] = {}) => openMcp(true, {}, more));

describe('an argument', () => {
  test.each([
    ['messages_read', { message_id: 7 }, /Grüße/],
    ['messages_read', { message_id: '7', skip: '2' }, /üße/],
    ['messages_read', { message_id: '[7]' }, /Grüße/],
    ['messages_read', { limit: '1', junk: 'false' }, /Grüße/],
    ['messages_read', { limit: ' 1 ', junk: 'True' }, /Grüße/],
    ['messages_read', null, /Grüße/],
    [
      'messages_read',
      { conversation_id: null, since: '', before: null, cursor: '', message_id: '', format: null },
      /Grüße/,
    ],
    ['conversations_list', { search: 15550100 }, /\+15550100/],
    ['messages_search', { query: 42 }, /Grüße/],
    ['attachments_fetch', { message_id: 7, n: '0', variant: '' }, /no such attachment/],
    ['messages_send', { to: '+15550100', text: 42, dry_run: 'false' }, /^Sent as message/],
    ['messages_send', { to: '+15550100', text: 'a', service: 'iMessage' }, /^Sent as message/],
    ['messages_read', { message_id: 7, format: ' JSON' }, /"body":"Grüße/],
    ['messages_send', { to: 21525, text: true, send_at: '', idempotency_key: 17 }, /^Sent as message/],
  ] as const)('of the other JSON type, or empty, is read as meant: %s %j', async (tool, input, expected) => {
    const { content } = await callTool(await open(), tool, input);
    expect(content[0]?.text).toMatch(expected);
  });

  test('that was a number reaches Messages as the same digits', async () => {
    const gateway = await open();
    await callTool(gateway, 'messages_send', { to: 21525, text: 42 });
    expect(gateway.sender.sent).toMatchObject([{ recipient: '21525', body: '42' }]);
  });

  test.each([
    ['messages_send', { to: '+15550100', text: 4.5 }, /text/],
    ['messages_send', { to: 2 ** 53, text: 'hi' }, /to/],
    ['messages_send', { to: '+15550100', text: '' }, /text/],
    ['messages_send', { to: '+15550100', text: ['a'] }, /text/],
    ['messages_send', { to: '+15550100', text: 'a', dry_run: 'yes' }, /dry_run/],
    ['messages_read', { limit: '1e2' }, /limit/],
    ['messages_read', { limit: '0.5' }, /limit/],
    ['messages_read', { limit: true }, /limit/],
  ] as const)('that would lose or change something is an error: %s %j', async (tool, input, name) => {
    const gateway = await open();
    const { isError, content } = await callTool(gateway, tool, input);
    expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(name)]);
    expect(gateway.sender.sent).toEqual([]);
  });

  test.each([
    ['messages_read', { conversation: 'x' }, ['conversation', '`conversation_id`']],
    ['messages_read', { conversationId: 'x' }, ['conversationId', '`conversation_id`']],
    ['messages_read', { id: '7' }, ['id', '`conversation_id` or `message_id`']],
    ['messages_read', { mesage_id: '7' }, ['mesage_id', '`message_id`']],
    ['messages_read', { befor: '2026-01-01', limit: 'x' }, ['befor', '`before`', 'limit']],
    ['messages_send', { to: '+15550100', text: 'a', dryrun: true }, ['dryrun', '`dry_run`']],
    ['events_wait', { timeout: 5 }, ['timeout', '`timeout_s`']],
  ] as const)('near a known one is an error that names both: %s %j', async (tool, input, names) => {
    const gateway = await open();
    const { isError, content } = await callTool(gateway, tool, input);
    expect(isError).toBe(true);
    for (const name of names) expect(content[0]?.text).toContain(name);
    expect([gateway.sender.sent, gateway.reader.queries]).toEqual([[], []]);
  });

  test('is compared with the known ones only if few are unknown, because thousands would block the service', async () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`limit_${at}`, at]));
    const { isError, content } = await callTool(await open(), 'messages_read', many);
    expect([isError, content[0]?.text.match(/use `limit`/g)?.length]).toEqual([true, 100]);
  });

  test('that clients add by themselves is ignored without a word', async () => {
    const added = {
      toolCallId: '1',
      sessionId: 's',
      action: 'sendMessage',
      chatInput: 'hi',
      tool: 'x',
      session_id: 's',
    };
    const { structuredContent } = await callTool(await open(), 'messages_read', added);
    expect(JSON.stringify(structuredContent)).not.toMatch(/Ignored/);
  });

  test('that is unknown is named, in the text and in the structured answer, also of an error', async () => {
    const gateway = await open();
    const read = await callTool(gateway, 'messages_read', { mood: 'curious', 'odd\nname': 1, empty: null });
    const note = /^Ignored, because this tool has no such argument: `mood`, `odd[^\n]*name`\.\n/;
    expect(read.content[0]?.text).toMatch(note);
    expect((read.structuredContent as { readonly text: string }).text).toMatch(note);
    const failed = await callTool(gateway, 'messages_read', { mood: 'curious', conversation_id: 'nobody' });
    expect([failed.isError, failed.content[0]?.text]).toEqual([true, expect.stringMatching(/^Ignored.+`mood`\.\n/)]);
  });

  test('named like a member of every object is unknown, and changes nothing', async () => {
    const input = JSON.parse('{"__proto__": {"limit": 1}, "constructor": "x", "toString": 1}') as Record<
      string,
      unknown
    >;
    const { isError, content } = await callTool(await open(), 'messages_read', input);
    expect([isError, content[0]?.text]).toEqual([undefined, expect.stringContaining('`constructor`')]);
  });
});

describe('a name as recipient', () => {
  const person = (name: string, ...addresses: string[]) => ({ name, addresses, nickname: null, organization: null });
  const people = [person('Ben Okafor', '+15550101'), person('Ana', '+15550100', 'ana@example.com')];
  const naming: NameSource = {
    ...noContacts,
    named: async (name) => people.filter((one) => one.name === name),
  };
  const sender = {
    attachmentMistakes: async () => [],
    send: () => Promise.reject(problem('recipient_is_name')),
  };

  test.each([
    ['Ben Okafor', /^“Ben Okafor” is a name: use \+15550101\. Nothing was sent\.$/],
    ['Ana', /^“Ana” is a name\. Ask which address is meant: Ana: \+15550100, ana@example\.com\. Nothing/],
    ['Nobody', /^“Nobody” is a name, and nobody with this name is known\. Nothing was sent\. Use a number/],
  ])('%s is answered with the addresses that the key may read', async (to, sentence) => {
    const gateway = await open({ naming, sender });
    const { isError, content } = await callTool(gateway, 'messages_send', { to, text: 'hi' });
    expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(sentence)]);
  });
});
