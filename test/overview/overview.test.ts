import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Approval, AuditEntry } from '../../src/client/access-types.ts';
import type { Overview, StatisticSeries } from '../../src/client/overview-types.ts';
import type { ShownSetting } from '../../src/core/model/shown-setting.ts';
import type { StatusReport } from '../../src/core/model/status.ts';
import type { Webhook, WebhookStatus } from '../../src/core/model/webhook.ts';
import { AccessFixture, ANA, BEN, MALLORY } from '../support/access-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';

const APPLE_EPOCH_MS = 978_307_200_000;

let fixture: AccessFixture;
beforeAll(async () => {
  // A process, because the status names the command that runs with it.
  fixture = await AccessFixture.start();
});
afterAll(() => fixture.dispose());

/** Writes a row as Messages does for a message of the owner. */
function write(text: string): void {
  const date = BigInt(Date.now() - APPLE_EPOCH_MS) * 1_000_000n;
  fixture.chats.message({ chat: fixture.chatIds[`any;-;${ANA}`] ?? 0, text, is_from_me: 1, date });
}

const read = async <Answer>(path: string): Promise<Answer> => (await fixture.service.get(path)).json as Answer;

describe('the overview', () => {
  test('has the time that Messages took for the last send, and asks Messages nothing for it', async () => {
    expect(await read<StatusReport>('/status')).not.toHaveProperty('messages');
    const runs = fixture.osascript.runs().length;
    await fixture.service.post('/messages', { recipient: ANA, body: 'timed' });
    const { messages } = await read<StatusReport>('/status');
    expect(messages).toEqual({ answer_ms: expect.any(Number), checked_at: expect.stringMatching(/Z$/) });
    // Automation is asked for before the first send.
    expect(fixture.osascript.runs()).toHaveLength(runs + 2);
  });

  test('has everything of the home page in one answer, and counts from the first start on', async () => {
    const before = await read<Overview>('/overview');
    // Messages in chat.db from before the first start, and a send that nobody had asked about.
    expect(before.events.since).toBe(before.day);
    expect(before.sends.today).toMatchObject({ pending: 1 });
    expect(before.events.minutes).toHaveLength(60);
    expect(before.keys).toBeUndefined();
    const agent = await fixture.key({ name: 'agent-claude', preset: 'assistant', read: [ANA], send: [ANA, BEN] });
    await agent.post('/messages', { recipient: ANA, body: 'held' });
    await agent.post('/messages', { recipient: MALLORY, body: 'refused' });
    await agent.get('/messages');
    write('sent by the owner');
    await eventually(async () => {
      const { events, sends, keys, approvals, status, host } = await read<Overview>('/overview');
      expect(events.today).toBeGreaterThan(0);
      expect(events.minutes.at(-1)?.counts.sent ?? events.minutes.at(-2)?.counts.sent).toBe(1);
      expect(sends.today).toMatchObject({ held: 1, refused: 1 });
      expect(keys).toMatchObject([{ name: 'agent-claude', today: { asked: 1, refused: 1 } }]);
      expect(keys?.[0]?.hours).toHaveLength(24);
      expect(approvals).toMatchObject([{ to: ANA, key_name: 'agent-claude', text: 'held' }]);
      expect(status.held_sends).toBe(1);
      expect(host.memory_bytes).toBeGreaterThan(1_000_000);
      expect(host.disk_total).toBeGreaterThan(host.disk_free);
    });
  });

  test('says to the owner alone how commands are run with this service', async () => {
    const { status } = await read<Overview>('/overview');
    expect(status.cli?.program).toMatch(/main\.js$/);
    expect(status.cli?.options).toMatch(/^--config-dir \S+$/);
    const agent = await fixture.key({ name: 'words', preset: 'reader', read: [ANA] });
    expect((await agent.get('/status')).json).not.toHaveProperty('cli');
    const ofOwner = await fetch(fixture.service.url.replace('/api/v1', '/mcp'), {
      method: 'POST',
      headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(await ofOwner.json()).toMatchObject({
      hint: expect.stringMatching(/"node \S+main\.js keys add --config-dir \S+"/),
    });
    const ofNobody = await fixture.service.get('/status', { 'x-api-key': 'postern_x' });
    expect(ofNobody.text).toContain('postern keys add');
  });

  test('series have every span, and refuse what they do not know', async () => {
    const days = await read<StatisticSeries>('/stats/events?by=day');
    expect(days.points).toHaveLength(30);
    expect((await read<StatisticSeries>('/stats/sends?by=minute&last=5')).points).toHaveLength(5);
    expect((await read<StatisticSeries>('/stats/keys?by=day&last=1')).subjects).not.toEqual({});
    expect((await fixture.service.get('/stats/wishes')).status).toBe(404);
    expect((await fixture.service.get('/stats/events?by=year&last=0')).json).toMatchObject({
      errors: [{ pointer: '?by' }, { pointer: '?last' }],
    });
  });

  test('the configuration is shown with its defaults, and without the key', async () => {
    const answer = await fixture.service.get('/config');
    const { settings } = answer.json as { readonly settings: readonly ShownSetting[] };
    const setting = (name: string) => settings.find(({ key }) => key === name);
    expect(setting('backend.poll_interval_ms')).toMatchObject({ value: 50, default: 1000, is_default: false });
    expect(setting('server.host')).toMatchObject({ value: '127.0.0.1', is_default: true });
    expect(setting('search.enabled')).toMatchObject({ default: false, needs_restart: true });
    expect(setting('webhooks.allowed_hosts')).toMatchObject({ value: [], default: [], is_default: true });
    expect(setting('auth.api_key')).toBeUndefined();
    expect(answer.text).not.toContain(KEY);
  });
});

describe('lists with the additions that the console shows', () => {
  test('the audit log goes back page by page, newest first, and narrows to what is asked', async () => {
    const page = await fixture.service.get('/audit?order=desc&limit=2&include=contacts');
    const newest = page.json as readonly AuditEntry[];
    expect(newest[0]?.id).toBeGreaterThan(newest[1]?.id ?? 0);
    expect(newest[0]?.names).toBeDefined();
    const next = nextOf(page) ?? '';
    const earlier = (await fixture.service.get(next)).json as readonly AuditEntry[];
    expect(earlier[0]?.id).toBe((newest[1]?.id ?? 0) - 1);
    const refused = await read<AuditEntry[]>('/audit?action=refused&outcome=recipient_not_allowed');
    expect(refused.map(({ action }) => action)).toEqual(['refused']);
    expect(await read<AuditEntry[]>('/audit?since=2999-01-01')).toEqual([]);
    // Without new parameters the answer is the same as that of earlier versions.
    const plain = await read<AuditEntry[]>('/audit');
    expect(plain.map(({ id }) => id)).toEqual(plain.map(({ id }) => id).sort((a, b) => a - b));
    expect(plain[0]).not.toHaveProperty('names');
  });

  test('held sends say whether the owner ever wrote there, to those who ask for names', async () => {
    const agent = await fixture.key({ name: 'other', preset: 'assistant', send: [MALLORY] });
    await agent.post('/messages', { recipient: MALLORY, body: 'a first message' });
    const held = await read<Approval[]>('/approvals?state=held&include=contacts');
    const news = Object.fromEntries(held.map(({ to, new_contact: isNew }) => [to, isNew]));
    expect(news).toMatchObject({ [MALLORY]: true, [ANA]: false });
    expect((await read<Approval[]>('/approvals?state=held'))[0]).not.toHaveProperty('new_contact');
  });

  test('webhooks come with their states in one request, and without the passwords of their addresses', async () => {
    const url = 'http://name:secret@127.0.0.1:9/hook';
    await fixture.service.post('/webhooks', { url, events: ['message.received'], on_failure: 'hold' });
    const shown = await read<(Webhook & WebhookStatus)[]>('/webhooks?include=status');
    expect(shown.at(-1)).toMatchObject({ url: 'http://name:***@127.0.0.1:9/hook', state: 'healthy', behind: 0 });
    expect((await read<Webhook[]>('/webhooks')).at(-1)).toMatchObject({ url });
    expect((await read<Webhook[]>('/webhooks')).at(-1)).not.toHaveProperty('state');
  });

  test('a held delivery says when it is tried next, and is tried at once when somebody asks', async () => {
    let isUp = false;
    const receiver = await Receiver.start((response) => void response.writeHead(isUp ? 204 : 503).end());
    try {
      const made = await fixture.service.post('/webhooks', {
        url: receiver.url,
        events: ['message.sent'],
        on_failure: 'hold',
      });
      const { id } = made.json as Webhook;
      write('held for the receiver');
      await eventually(async () => {
        const { next_attempt_at: next } = await read<WebhookStatus>(`/webhooks/${id}`);
        expect(Date.parse(next ?? '')).toBeGreaterThan(Date.now());
      });
      const problems = async () => (await read<StatusReport>('/status')).problems;
      expect(await problems()).toMatchObject([
        { code: 'webhook_held', until: null, hint: expect.stringMatching(/503/) },
      ]);
      const viewer = await fixture.key({ name: 'viewer', scopes: ['read'], read: [ANA] });
      expect((await viewer.get('/status')).json).not.toHaveProperty('problems');
      isUp = true;
      const before = receiver.deliveries.length;
      expect((await fixture.service.post(`/webhooks/${id}/retry`, {})).status).toBe(202);
      // Without this request the next attempt would come ten seconds after the third failure.
      await eventually(() => expect(receiver.deliveries.length).toBe(before + 1));
      await eventually(async () => expect(await read<WebhookStatus>(`/webhooks/${id}`)).toMatchObject({ held: null }));
      expect(await problems()).toMatchObject([{ code: 'webhook_held', until: expect.stringMatching(/Z$/) }]);
      const { subjects } = await read<StatisticSeries>('/stats/webhooks?by=hour&last=2');
      // The hour may have changed since the attempts.
      expect(subjects?.[id]?.points.some(({ counts }) => (counts.failed ?? 0) > 0)).toBe(true);
    } finally {
      await receiver.close();
    }
  });
});
