import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser, unroute } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary.ts';

const BEN = '+15550101';
const CHO = 'cho@example.com';
const MINUTE_MS = 60_000;

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
/** True while the way to the service passes no WebSocket, as some proxies. */
let isWithoutStreams = false;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

async function ask(path: string, body: unknown, key = there().key): Promise<Record<string, string>> {
  const response = await fetch(`${there().url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

/** Changes the answers to the requests for `glob` until it is undone. */
async function change<Answer>(glob: string, changed: (answer: Answer) => unknown): Promise<() => Promise<void>> {
  const { page } = there();
  await page.route(glob, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: changed((await response.json()) as Answer) });
  });
  return () => unroute(page);
}

/** Answers the requests for a list with one page, and the request for the page after it with another or a refusal. */
async function twoPages(glob: string, first: readonly object[], second: readonly object[] | number): Promise<void> {
  await there().page.route(glob, (route) => {
    if (!route.request().url().includes('cursor=')) {
      return route.fulfill({ json: first, headers: { link: `<${route.request().url()}&cursor=2>; rel="next"` } });
    }
    return route.fulfill(typeof second === 'number' ? { status: second, json: {} } : { json: second });
  });
}

const goTo = (hash: string) => there().page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

async function signIn(key: string, hash: string): Promise<void> {
  const { page, url } = there();
  if (page.url().startsWith(url)) await page.evaluate('sessionStorage.clear()');
  await page.goto('about:blank');
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#views a').first().waitFor();
  await page.evaluate(`location.hash = '${hash}'`);
}

/** Lets the page do what it does by itself in this time. */
const pass = (ms: number): Promise<void> => there().page.clock.runFor(ms);

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.page.clock.install();
  await stage.page.routeWebSocket(/\/api\/v1\/ws\?/, (stream) => {
    if (isWithoutStreams) void stream.close();
    else stream.connectToServer();
  });
});
afterAll(async () => {
  await stage?.close();
});

describe('the console', () => {
  inBrowser('claims no health below a banner that says that nothing answers', async () => {
    const { page, complaints } = there();
    await signIn(there().key, '#/overview');
    await page.locator('#verdict', { hasText: 'Everything works' }).waitFor();
    await page.locator('#overview .checks .good').first().waitFor();
    await there().stopService();
    await page.locator('#outage', { hasText: 'Postern does not answer.' }).waitFor();
    await page.locator('#verdict', { hasText: /^Not known since \d/ }).waitFor();
    expect(await page.locator('#overview').getByText('Everything works').count()).toBe(0);
    expect(await page.locator('#overview :is(.verdict, .checks) .good').count()).toBe(0);
    expect(await there().faults()).toEqual([]);
    await there().startService();
    await pass(MINUTE_MS);
    await page.locator('#verdict', { hasText: 'Everything works' }).waitFor();
    await page.locator('#health', { hasText: 'Live' }).waitFor();
    complaints.splice(0);
  });

  inBrowser('says what the status says in the banner, and withdraws both together', async () => {
    const { page } = there();
    const message = 'chat.db is away';
    const undo = await change<{ readonly status: object }>('**/api/v1/overview', ({ status, ...others }) => ({
      ...others,
      status: { ...status, backend: { connected: false, message } },
    }));
    await pass(MINUTE_MS / 2);
    await page.locator('#outage', { hasText: `cannot read your messages: ${message}` }).waitFor();
    expect(await page.textContent('#verdict')).toBe('Postern cannot read your messages');
    await undo();
    await pass(MINUTE_MS / 2);
    await page.locator('#verdict', { hasText: 'Everything works' }).waitFor();
    await page.locator('#outage').waitFor({ state: 'hidden' });
  });

  inBrowser('says that events do not arrive, and not that Postern is silent, where no WebSocket leads', async () => {
    const { page, complaints } = there();
    isWithoutStreams = true;
    await page.route('**/api/v1/events?after=*', (route) => route.fulfill({ json: [] }));
    await signIn(there().key, '#/events');
    await page.locator('#outage', { hasText: 'New events do not arrive here' }).waitFor();
    await page.locator('#live-state', { hasText: 'Not listening' }).waitFor();
    await page.getByRole('heading', { name: 'Not listening' }).waitFor();
    await page.unroute('**/api/v1/events?after=*');
    expect(await page.textContent('#health')).toBe('Needs attention');
    isWithoutStreams = false;
    await pass(MINUTE_MS / 2);
    await page.locator('#live-state', { hasText: 'Live' }).waitFor();
    await page.locator('#outage').waitFor({ state: 'hidden' });
    complaints.splice(0);
  });

  inBrowser('is not live with a key that hears no events, and notices by itself that nothing answers', async () => {
    const { page, complaints } = there();
    const { key = '' } = await ask('keys', { name: 'writer', scopes: ['read', 'send'], read: '*', send: [BEN] });
    await signIn(key, '#/settings');
    await page.locator('#s-about').waitFor();
    await page.locator('#health', { hasText: 'Connected' }).waitFor();
    await there().stopService();
    await pass(MINUTE_MS);
    await page.locator('#outage', { hasText: 'Postern does not answer.' }).waitFor();
    await there().startService();
    await pass(MINUTE_MS);
    await page.locator('#outage').waitFor({ state: 'hidden' });
    complaints.splice(0);
  });
});

describe('a view that stays open', () => {
  inBrowser('counts the events of the last hour again', async () => {
    const { page } = there();
    await signIn(there().key, '#/events');
    let count = 1;
    const points = () => Array.from({ length: 60 }, () => ({ at: new Date().toISOString(), counts: { sent: count } }));
    await change<object>('**/stats/events?by=minute*', (series) => ({ ...series, points: points() }));
    await pass(MINUTE_MS);
    await page.getByText('1.0 a minute').waitFor();
    count = 2;
    await pass(MINUTE_MS);
    await page.getByText('2.0 a minute').waitFor();
    await unroute(page);
  });

  inBrowser('says when a key was last used, and that a permission has been granted', async () => {
    const { page, url } = there();
    const { id, key = '' } = await ask('keys', { name: 'reader', preset: 'reader', read: '*' });
    await signIn(there().key, '#/keys');
    const used = page.locator(`#key-list [data-id="${id}"] td:nth-child(6)`);
    await used.getByText('never').waitFor();
    await fetch(`${url}/api/v1/conversations`, { headers: { 'x-api-key': key } });
    await pass(MINUTE_MS);
    await used.getByText(/ago$/).waitFor();
    let state = 'denied';
    const undo = await change<object>('**/api/v1/status', (status) => ({
      ...status,
      permissions: [{ name: 'automation', state, detail: 'Allow it.' }],
    }));
    await goTo('#/settings');
    const first = page.locator('#settings .card', { hasText: 'Automation of Messages' });
    await first.getByText('Not granted').waitFor();
    state = 'granted';
    await pass(MINUTE_MS);
    await first.getByText('Granted', { exact: true }).waitFor();
    await undo();
  });

  inBrowser('keeps the settings that it cannot read again', async () => {
    const { page, complaints } = there();
    await signIn(there().key, '#/settings');
    await page.locator('#s-server').waitFor();
    await page.route('**/api/v1/config', (route) => route.fulfill({ status: 503, json: { detail: 'Not now.' } }));
    const again = page.waitForResponse('**/api/v1/config');
    await pass(MINUTE_MS / 2);
    await again;
    await pass(1000);
    expect(await page.locator('#s-server').count()).toBe(1);
    await page.unroute('**/api/v1/config');
    complaints.splice(0);
  });

  inBrowser('lists no key beside a conversation that was revoked, and no send that was cancelled', async () => {
    const { page } = there();
    const { id = '' } = await ask('keys', { name: 'spy', preset: 'reader', read: '*' });
    const sendAt = new Date(Date.now() + 30 * MINUTE_MS).toISOString();
    const { scheduled } = (await ask('messages', { recipient: BEN, body: 'Not now', send_at: sendAt })) as unknown as {
      readonly scheduled: { readonly id: string };
    };
    await signIn(there().key, `#/c/any;-;${BEN}`);
    const key = page.locator('.info', { hasText: 'Keys with access' }).getByText('spy');
    await key.waitFor();
    const later = page.locator('#message-list .later', { hasText: 'Not now' });
    await later.waitFor();
    await there().client.keys.revoke(id);
    await fetch(`${there().url}/api/v1/scheduled/${scheduled.id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': there().key },
    });
    await pass(2 * MINUTE_MS);
    await later.waitFor({ state: 'detached' });
    await goTo(`#/c/any;-;${CHO}`);
    await key.waitFor({ state: 'detached' });
  });

  inBrowser('says how an approved send ended, also when that takes long', async () => {
    const { page } = there();
    const { key = '' } = await ask('keys', { name: 'agent', preset: 'assistant', send: [BEN] });
    const asked = ['On this page', 'Elsewhere', 'Still waits'];
    for (const body of asked) await ask('messages', { recipient: BEN, body }, key);
    await signIn(there().key, '#/approvals');
    const card = (text: string) => page.locator('#approval-list article', { hasText: text });
    await card('Still waits').waitFor();
    // Approved on this page; Messages needs longer than one request may wait.
    let isFirst = true;
    const undo = await change<object>('**/approvals/*?wait=*', (real) => {
      const answer = isFirst ? { ...real, state: 'approved' } : real;
      isFirst = false;
      return answer;
    });
    await card('On this page').getByRole('button', { name: 'Send exactly this' }).click();
    await page.waitForResponse(/approvals\/[^/]+\?wait=/);
    await pass(5000);
    await card('On this page').locator('.outcome', { hasText: 'Handed over' }).waitFor();
    await undo();
    // Approved elsewhere, and failed afterwards.
    let state = 'approved';
    type Approval = { readonly text: string | null; readonly state: string };
    await change<Approval[]>('**/approvals?*', (all) =>
      all.flatMap((one) => {
        if (one.text !== 'Elsewhere') return one;
        return [{ ...one, state, decided_by: 'owner', decided_at: new Date().toISOString() }];
      }),
    );
    await change<Approval[]>('**/approvals?state=held*', (all) => all.filter(({ text }) => text !== 'Elsewhere'));
    await pass(15_000);
    await card('Elsewhere').locator('.outcome', { hasText: 'Approved' }).waitFor();
    state = 'failed';
    await pass(15_000);
    await card('Elsewhere').locator('.outcome', { hasText: 'Failed' }).waitFor();
    await page.locator('#decided-list', { hasText: 'Failed' }).waitFor();
    await unroute(page);
    await page.routeWebSocket(/\/api\/v1\/ws\?/, (stream) => void stream.connectToServer());
  });
});

describe('what is said of a send', () => {
  inBrowser('is that its approval was requested, also of one that is tried again', async () => {
    const { page } = there();
    const rights = { read: '*', send: [CHO], approval: 'always' };
    const { key = '' } = await ask('keys', { name: 'careful', preset: 'assistant', ...rights });
    await there().command({ do: 'scenario', name: 'error_25', times: 1 });
    await ask('messages', { recipient: CHO, body: 'Not delivered' });
    await signIn(key, `#/c/any;-;${CHO}`);
    const failed = page.locator('#message-list .failed', { hasText: 'Not delivered' }).last();
    await failed.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#toast', { hasText: 'Approval was requested.' }).waitFor();
    await page.fill('#body', 'Another one');
    await page.keyboard.press('Enter');
    await page.locator('#send-result', { hasText: 'Approval was requested.' }).waitFor();
  });
});

describe('the console says that there is nothing', () => {
  inBrowser('only once it has looked at every page: of the audit log', async () => {
    const { page } = there();
    const line = { key_id: 'owner', action: 'send', outcome: 'sent', text_hmac: null, count: 1 };
    const lines = Array.from({ length: 201 }, (_, at) => {
      return { ...line, id: 201 - at, at: new Date().toISOString(), target: at < 200 ? BEN : 'old@example.com' };
    });
    await twoPages('**/api/v1/audit?*', lines.slice(0, 200), lines.slice(200));
    await signIn(there().key, '#/audit');
    await page.locator('#audit-list .aud').first().waitFor();
    await page.getByLabel('Person, group or id').fill('old@');
    await page.locator('#audit-list .aud', { hasText: 'old@example.com' }).waitFor();
    await page.getByLabel('Person, group or id').fill('nobody');
    await page.locator('#audit .empty', { hasText: 'No line matches' }).waitFor();
    // One filter chooses the acts.
    await page.getByRole('button', { name: 'Only refused' }).click();
    const action = page.getByLabel('Action', { exact: true });
    expect(await action.inputValue()).toBe('refused');
    await action.selectOption('send');
    expect(await page.getByRole('button', { name: 'Only refused' }).getAttribute('aria-pressed')).toBe('false');
    await page.unroute('**/api/v1/audit?*');
  });

  inBrowser('only once it has looked at every page: of unread conversations', async () => {
    const { page } = there();
    const [real] = (await (
      await fetch(`${there().url}/api/v1/conversations?limit=1&include=details,contacts`, {
        headers: { 'x-api-key': there().key },
      })
    ).json()) as readonly { readonly details: { readonly last_message: object } }[];
    const all = Array.from({ length: 51 }, (_, at) => {
      const last = { ...real?.details.last_message, id: `${9000 + at}`, is_from_me: false };
      const details = { ...real?.details, unread_count: at < 50 ? 0 : 3, last_message: last };
      return { ...real, id: `any;-;${at}@example.com`, participants: [`${at}@example.com`], details };
    });
    await twoPages('**/api/v1/conversations?*', all.slice(0, 50), all.slice(50));
    await signIn(there().key, '#/messages');
    await page.locator('#conversation-list a').first().waitFor();
    await page.getByRole('button', { name: 'Unread' }).click();
    await page.locator('#conversation-list a', { hasText: '50@example.com' }).waitFor();
    await page.unroute('**/api/v1/conversations?*');
  });

  inBrowser('also where a hub refuses the page after its last one', async () => {
    const { page, complaints } = there();
    await twoPages('**/api/v1/conversations?*', [], 400);
    await signIn(there().key, '#/messages');
    await page.getByRole('button', { name: 'Unread' }).click();
    await page.getByRole('heading', { name: 'Nothing new' }).waitFor();
    await page.unroute('**/api/v1/conversations?*');
    complaints.splice(0);
  });
});
