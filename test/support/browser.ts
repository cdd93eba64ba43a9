import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { PosternClient } from '../../src/client/postern-client.ts';
import type { Command } from '../../src/features/simulator/commands.ts';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { testIf } from './conditions.ts';
import { waitFor } from './eventually.ts';
import { freePort } from './service.ts';
import { BARE_ENVIRONMENT, whenFileEnds } from './temporary.ts';

/** Path of Chromium; undefined if it is not installed. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/**
 * Script that runs axe and returns only the violations, because axe also returns every node that passed. Transitions
 * end first: after a change of the scheme a text has its new colour while its background is still changing.
 */
const FAULTS = `Promise.allSettled(
  document.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== Infinity).map((each) => each.finished),
).then(() => axe.run(document, { resultTypes: ['violations'] })).then(({ violations }) =>
  violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 120))]))`;
const HOURS_TO_NOON = 12 - new Date().getUTCHours();
/**
 * Name of a time zone in which it is about noon, for the demo and the page: no day ends during a test. Zones east of
 * Greenwich have a minus in these names.
 */
const NOON = `Etc/GMT${HOURS_TO_NOON > 0 ? '-' : '+'}${Math.abs(HOURS_TO_NOON)}`;
/** Flags that keep the browser from contacting anybody. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Declares a test that is skipped, with the reason in its name, without Chromium. */
export function inBrowser(name: string, run: () => Promise<void>): void {
  testIf(CHROMIUM !== undefined, 'needs /usr/bin/chromium')(name, run);
}

/**
 * Opens an empty page in a new browser. Animations are off: without a graphics card a pulsing dot takes a tenth of a
 * core.
 */
export async function openPage(executablePath: string): Promise<{ readonly browser: Browser; readonly page: Page }> {
  const browser = await chromium.launch({ executablePath, args: QUIET });
  whenFileEnds(() => browser.close());
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    timezoneId: NOON,
    colorScheme: 'light',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  return { browser, page };
}

/** Resolves with true in the frame after the one that lays the page out at its new size. */
const IS_DRAWN = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`;

/**
 * Changes the size of the page, and resolves once scripts have handled the change: the console makes the rows of its
 * lists again at another width, so that a row found before has left the document.
 */
export async function resize(page: Page, width: number, height: number): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.waitForFunction(`innerWidth === ${width}`);
  await page.evaluate(IS_DRAWN);
}

/**
 * Takes a page's routes away once their handlers have ended. `page.unroute` would not wait for them: Playwright would
 * pass on the requests that they work on, and their answers would fail.
 */
export const unroute = (page: Page): Promise<void> => page.unrouteAll({ behavior: 'wait' });

/** Stops the page's clock, and returns a function that lets it go on. */
const STOP_CLOCK = `(() => {
  const { now } = performance;
  const stoppedAt = performance.now();
  performance.now = () => stoppedAt;
  return () => { performance.now = now; };
})()`;

/** Presses one key and then another. For the page no time passes in between, however busy the machine is. */
export async function pressInARow(page: Page, first: string, second: string): Promise<void> {
  const goOn = await page.evaluateHandle<() => void>(STOP_CLOCK);
  await page.keyboard.press(first);
  await page.keyboard.press(second);
  await goOn.evaluate((run) => run());
}

/** Returns the faults that axe finds, shortened. */
export async function axeFaults(page: Page): Promise<readonly unknown[]> {
  // Loading axe takes longer than running it, so each document loads it once.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(AXE);
  return page.evaluate<readonly unknown[]>(FAULTS);
}

/**
 * Script that returns the elements which run off the side of the window, or of a part of it that hides or scrolls the
 * rest. A text that ends in "…" says itself that it is cut.
 */
const OFF = `[...document.querySelectorAll('#main *')].filter((each) => {
  if (each instanceof SVGElement || each.closest('.unseen, .msg .by') !== null) return false;
  const { right, left, width } = each.getBoundingClientRect();
  let clips = each.parentElement;
  while (clips !== null && getComputedStyle(clips).textOverflow !== 'ellipsis') clips = clips.parentElement;
  const isOff = width > 0 && clips === null && (right > innerWidth + 1 || left < -1);
  const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(each);
  const says = textOverflow === 'ellipsis' || webkitLineClamp !== 'none';
  const hides = overflowX !== 'visible' && !says && !each.matches('input, textarea, select');
  return isOff || (hides && each.scrollWidth > each.clientWidth + 1);
}).map(({ className, id }) => [id, String(className)].join('.')).slice(0, 5)`;

/** Returns the elements that run off the side of the window, shortened. */
export const offTheSide = (page: Page): Promise<readonly string[]> => page.evaluate<readonly string[]>(OFF);

/** The demo as a child process, and a browser in front of it that records complaints. */
export class BrowserStage {
  readonly url: string;
  readonly page: Page;
  /** Console errors, violations of the content security policy, and requests to anybody else. */
  readonly complaints: string[] = [];
  readonly #folder: string;
  readonly #browser: Browser;
  #demo: ChildProcess;

  private constructor(url: string, folder: string, demo: ChildProcess, browser: Browser, page: Page) {
    this.url = url;
    this.page = page;
    this.#folder = folder;
    this.#demo = demo;
    this.#browser = browser;
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(message.text());
    });
    page.on('request', (request) => {
      const asked = request.url();
      if (!asked.startsWith(`${url}/`) && !/^(?:data|blob):/.test(asked)) this.complaints.push(`asked ${asked}`);
    });
  }

  /** Resolves with undefined if there is no browser. */
  static async open(parent: string, requestsPerMinute?: number): Promise<BrowserStage | undefined> {
    if (CHROMIUM === undefined) return undefined;
    const folder = join(parent, 'demo');
    const port = await freePort();
    if (requestsPerMinute !== undefined) allow(requestsPerMinute, folder);
    const demo = await startDemo(folder, port);
    const { browser, page } = await openPage(CHROMIUM);
    return new BrowserStage(`http://127.0.0.1:${port}`, folder, demo, browser, page);
  }

  get key(): string {
    return /^api_key = "(.+)"/m.exec(readFileSync(join(this.#folder, 'config.toml'), 'utf8'))?.[1] ?? '';
  }

  /** The owner's client over the Unix socket. */
  get client(): PosternClient {
    return new PosternClient({ socketPath: join(this.#folder, 'postern.sock'), key: this.key });
  }

  /** Returns the faults that axe finds in the page, shortened. */
  faults(): Promise<readonly unknown[]> {
    return axeFaults(this.page);
  }

  /** Gives a command to the demo's Messages. */
  command<Answer>(command: Command): Promise<Answer> {
    return new SimulatedMac({ dir: this.#folder }).command<Answer>(command);
  }

  /** Ends the service; the browser keeps showing the page. */
  async stopService(): Promise<void> {
    const ended = once(this.#demo, 'exit');
    this.#demo.kill('SIGINT');
    await ended;
  }

  async startService(): Promise<void> {
    this.#demo = await startDemo(this.#folder, Number(new URL(this.url).port));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    if (this.#demo.exitCode === null) await this.stopService();
  }
}

/** Writes the configuration of a demo before its first start. */
function allow(requestsPerMinute: number, folder: string): void {
  // A folder without `home` is not accepted as a demo's.
  mkdirSync(join(folder, 'home'), { recursive: true, mode: 0o700 });
  const settings = [
    '[server]',
    `rate_limit_per_minute = ${requestsPerMinute}`,
    '[auth]',
    'api_key = "the-key-of-the-demo"',
    '[backend]',
    'poll_interval_ms = 250',
    '[search]',
    'enabled = true',
  ];
  writeFileSync(join(folder, 'config.toml'), `${settings.join('\n')}\n`, { mode: 0o600 });
}

async function startDemo(folder: string, port: number): Promise<ChildProcess> {
  const demo = spawn(process.execPath, [MAIN, 'demo', '--dir', folder, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...BARE_ENVIRONMENT, HOME: folder, TZ: NOON },
  });
  whenFileEnds(() => demo.kill('SIGKILL'));
  let output = '';
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await waitFor(() => {
    if (demo.exitCode !== null) throw new Error(output);
    return output.includes('Ctrl+C');
  });
  return demo;
}
