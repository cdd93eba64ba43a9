// Takes the screenshots of the console, on a demo of its own:
//   node docs/img/pages.mjs       (after make build; needs Chromium, and a font with emoji)
// With --check, writes none, and fails if one that is there looks different.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { SimulatedMac } from '../../dist/src/features/simulator/mac.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'postern-pictures-'));
const dir = join(home, 'demo');
const [ANA, BEN, CHO, GARDEN] = ['+15550100', '+15550101', 'cho@example.com', 'any;+;chat424242'];
const isCheck = process.argv.includes('--check');
/** The share of the pixels that may differ from a picture, in which for example the times are others. */
const MAX_DIFFERENCE = 0.02;
const HOURS_TO_NOON = 12 - new Date().getUTCHours();
/** A time zone in which it is about noon: a day that ends would move what is below it in a picture. */
const NOON = `Etc/GMT${HOURS_TO_NOON > 0 ? '-' : '+'}${Math.abs(HOURS_TO_NOON)}`;
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const PLAN = `<body style="margin:0;font-family:sans-serif"><svg xmlns="http://www.w3.org/2000/svg" width="420" height="240" style="background:#dcefd4">
  <rect x="20" y="20" width="380" height="60" rx="8" fill="#9ccc8a"/><text x="150" y="58" font-size="24">beans</text>
  <rect x="20" y="95" width="240" height="120" rx="8" fill="#e8a08c"/><text x="85" y="163" font-size="24">tomatoes</text>
  <rect x="280" y="95" width="120" height="120" rx="8" fill="#cdb892"/><text x="300" y="163" font-size="24">bench</text></svg>`;

// More requests than a person makes in a minute.
mkdirSync(join(dir, 'home'), { recursive: true });
writeFileSync(
  join(dir, 'config.toml'),
  '[server]\nrate_limit_per_minute = 1000\n[auth]\napi_key = "the-key-of-the-demo"\n[search]\nenabled = true\n',
  { mode: 0o600 },
);
const demo = spawn(process.execPath, [main, 'demo', '--dir', dir, '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, TZ: NOON },
});
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  let output = '';
  for await (const chunk of demo.stdout) {
    output += chunk;
    if (output.includes('Ctrl+C')) break;
  }
  const [, url] = /(http:\/\/[\d.:]+)\/docs/.exec(output);
  const [, key] = /^api_key = "(.+)"/m.exec(readFileSync(join(dir, 'config.toml'), 'utf8'));
  await write();
  // From here on the people say nothing, so that every picture is of the same moment.
  for (const pid of children(demo.pid)) process.kill(pid, 'SIGSTOP');
  await picture('console-phone', PHONE, 'light', thread);
  await picture('console-light', WIDE, 'light', thread);
  await picture('console-dark', WIDE, 'dark', thread);
  await picture('console-overview', WIDE, 'light', overview);
  await askToSend();
  for (const scheme of ['light', 'dark']) await pair(`approval-${scheme}`, scheme, [fromBen, approvals]);
  await picture('console-list-phone', PHONE, 'dark', list);

  async function overview(page) {
    await page.goto(`${url}/console#key=${key}`);
    await page.locator('#overview .todo, #overview .plot svg, #overview .code').first().waitFor();
  }

  /** An agent asks to send. */
  async function askToSend() {
    const post = async (path, body, by) => {
      const headers = { 'X-API-Key': by, 'Content-Type': 'application/json' };
      const answer = await fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(await answer.text());
      return answer.json();
    };
    const { key: agent } = await post('keys', { name: 'claude', preset: 'assistant', read: '*', send: [BEN] }, key);
    await post('messages', { recipient: BEN, body: 'Third step, noted. I will fetch the ladder at nine. 🪜' }, agent);
  }

  async function approvals(page) {
    await overview(page);
    await page.evaluate("location.hash = '#/approvals'");
    await page.locator('.card.ask').first().waitFor();
  }

  async function list(page) {
    await overview(page);
    await page.evaluate("location.hash = '#/messages'");
    await page.locator('#conversation-list a').first().waitFor();
    await page.evaluate('document.activeElement.blur()');
  }

  async function fromBen(page) {
    await list(page);
    await page.locator('#conversation-list a', { hasText: 'Ben Okafor' }).last().click();
    // The list shows the same words before the thread is read.
    await page.locator('#message-list').getByText('Mind the third step').last().waitFor();
  }

  async function thread(page) {
    await list(page);
    await page.locator('#conversation-list a', { hasText: 'Garden' }).click();
    await page.locator('#message-list img').first().waitFor();
    await page.locator('#thread-title').click();
  }
} finally {
  await browser.close();
  for (const pid of children(demo.pid)) process.kill(pid, 'SIGCONT');
  const ended = once(demo, 'exit');
  demo.kill();
  await ended;
  rmSync(home, { recursive: true, force: true });
}

/** Returns the ids of a process's children. */
function children(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** What the people say. */
async function write() {
  const page = await browser.newPage({ viewport: { width: 420, height: 240 } });
  await page.setContent(PLAN);
  const path = join(home, 'garden-plan.png');
  await page.screenshot({ path });
  const mac = new SimulatedMac({ dir });
  const say = async (from, text, more) => (await mac.command({ do: 'receive', from, text, ...more })).row;
  await say(CHO, 'Grüße aus Köln! Did the parcel arrive?');
  await say(BEN, 'I left the ladder by the gate. Mind the third step.');
  await say(BEN, 'This is how I would do it.', { chat: GARDEN, attachment: { name: 'garden-plan.png', bytes: 0, path } });
  const { row } = await mac.command({ do: 'write', to: GARDEN, text: 'Lovely! I will bring the ladder and a pot of tea.' });
  await mac.command({ do: 'react', to: row, from: ANA, type: 2000 });
  await mac.command({ do: 'react', to: row, from: CHO, type: 2006, emoji: '🫖' });
  await say(CHO, 'Is the gate open at ten? 🌱', { chat: GARDEN });
  await mac.command({ do: 'write', to: GARDEN, text: 'From nine on.' });
  await page.close();
}

/** Two narrow windows beside each other. */
async function pair(name, colorScheme, shows) {
  const shots = [];
  for (const show of shows) shots.push((await shot({ width: 600, height: 560 }, colorScheme, show)).toString('base64'));
  const page = await browser.newPage({ viewport: { width: 1288, height: 624 } });
  const window = (data) =>
    `<img src="data:image/png;base64,${data}" style="border-radius:12px;box-shadow:0 2px 16px #0006;width:600px">`;
  const ground = colorScheme === 'dark' ? '#0d1117' : '#eef1f5';
  await page.setContent(
    `<body style="margin:32px;display:flex;gap:24px;background:${ground}">${shots.map(window).join('')}`,
  );
  await keep(name, await page.screenshot());
  await page.close();
}

async function picture(name, viewport, colorScheme, show) {
  await keep(name, await shot(viewport, colorScheme, show));
}

async function keep(name, png) {
  const path = join(here, `${name}.png`);
  if (!isCheck) {
    writeFileSync(path, png);
    return;
  }
  const share = await difference(readFileSync(path), png);
  console.log(`${name}.png: ${(share * 100).toFixed(2)} % of the pixels differ`);
  if (share > MAX_DIFFERENCE) process.exitCode = 1;
}

/** Returns the share of the pixels in which two pictures differ visibly; 1 if their sizes differ. */
async function difference(...pngs) {
  const page = await browser.newPage();
  const share = await page.evaluate(
    async (pictures) => {
      const [one, other] = await Promise.all(
        pictures.map(async (base64) => {
          const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
          const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
          const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, image.width, image.height);
        }),
      );
      if (one.width !== other.width || one.height !== other.height) return 1;
      let differing = 0;
      for (let at = 0; at < one.data.length; at += 4) {
        const distance = [0, 1, 2].reduce((sum, n) => sum + Math.abs(one.data[at + n] - other.data[at + n]), 0);
        if (distance > 48) differing += 1;
      }
      return differing / (one.width * one.height);
    },
    pngs.map((png) => png.toString('base64')),
  );
  await page.close();
  return share;
}

async function shot(viewport, colorScheme, show) {
  const context = await browser.newContext({ viewport, colorScheme, timezoneId: NOON });
  const page = await context.newPage();
  await show(page);
  await page.waitForFunction('document.querySelector("main [aria-busy=true], main[aria-busy=true]") === null');
  // The fonts, and what fades in.
  await page.evaluate('document.fonts.ready');
  await page.waitForTimeout(500);
  const png = await page.screenshot();
  await context.close();
  return png;
}
