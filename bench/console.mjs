// Measures the console with many conversations in Chromium: its first paint, its longest tasks, its memory.
import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { chromium } from 'playwright-core';
import { consoleDatabase } from './database.mjs';
import { summary } from './figures.mjs';
import { KEY, startService } from './service.mjs';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync'];
const LONG = { rounds: 7, scrollMs: 15_000, back: 100_000 };
const QUICK = { rounds: 2, scrollMs: 3000, back: 2000 };
/** The speed of a fast turn of a mouse wheel. */
const PIXELS_A_FRAME = 80;

/** Script whose promises resolve with the times at which the first view and the conversations were painted. */
const NOTE_VIEWS = `for (const [name, selector] of [['drawn', '#overview .cols'], ['listed', '#conversation-list a']]) {
  globalThis[name] = new Promise((resolve) =>
    new MutationObserver((_, observer) => {
      if (document.querySelector(selector) === null) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    }).observe(document, { childList: true, subtree: true }),
  );
}`;
const VIEWS = ['messages', 'events', 'webhooks', 'approvals', 'keys', 'audit', 'settings', 'overview'];

/** Names in Chromium's traces: of a task, and of the microtasks after it, which delay the next task as well. */
const TASK = 'ThreadControllerImpl::RunTask';
const MICROTASKS = 'BlinkScheduler_PerformMicrotaskCheckpoint';
/** Tells the page's thread from those of the browser's own pages. */
const MARK = 'measured';

/** Returns no rows if Chromium is not installed. */
export async function consoleRows({ isQuick }) {
  if (CHROMIUM === undefined) return [];
  const { rounds, scrollMs, back } = isQuick ? QUICK : LONG;
  const path = consoleDatabase();
  const service = await startService(path);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  try {
    const url = `http://127.0.0.1:${service.port}/console#key=${encodeURIComponent(KEY)}`;
    const paints = [];
    const draws = [];
    const lists = [];
    const firstTasks = [];
    const laterTasks = [];
    for (let round = 0; round <= rounds; round += 1) {
      const { page, firstTask } = await openPage(browser, url);
      if (round > 0) {
        paints.push(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`));
        draws.push(await page.evaluate('drawn'));
        firstTasks.push(firstTask);
        const session = await page.context().newCDPSession(page);
        const { processorMs } = await tasksDuring(page, session, async () => {
          for (const view of VIEWS) await changeView(page, view);
        });
        laterTasks.push(processorMs);
        lists.push(await page.evaluate('listed.then((at) => at - opened)'));
      }
      await page.context().close();
    }
    const { page } = await openPage(browser, url);
    const session = await page.context().newCDPSession(page);
    await page.evaluate((id) => (location.hash = `#/c/${encodeURIComponent(id)}`), busiestIn(path));
    await page.locator('#message-list [data-id]').first().waitFor();
    const before = await memoryOf(session);
    const inThread = await tasksDuring(page, session, () =>
      page.evaluate(scrollUp, { scrollMs, step: PIXELS_A_FRAME }),
    );
    const seen = await page.evaluate(scrollBack, back);
    const after = await memoryOf(session);
    const inList = await tasksDuring(page, session, () => page.evaluate(scrollConversations));
    const listed = await memoryOf(session);
    const what = 'console, 3,000 conversations, 100,000 messages in one';
    const row = (name, values, unit, bound, note) => ({
      what: `${what}: ${name}`,
      postern: summary(values),
      unit,
      ...(bound !== undefined && { bound }),
      ...(note && { note }),
    });
    return [
      row('navigation → first paint', paints, 'ms'),
      row('navigation → overview drawn', draws, 'ms'),
      row('longest task until the overview is drawn, processor time', firstTasks, 'ms', 100),
      row('Messages chosen → conversations listed and painted', lists, 'ms'),
      row('longest task while every view is opened once, processor time', laterTasks, 'ms', 50),
      row(
        'longest task while a thread is scrolled, processor time',
        [inThread.processorMs],
        'ms',
        50,
        noteOf(inThread),
      ),
      row(
        'longest task while the list is scrolled to its end, processor time',
        [inList.processorMs],
        'ms',
        50,
        noteOf(inList),
      ),
      row(
        `heap after ${seen.toLocaleString('en')} messages were scrolled by`,
        [after.heapMiB],
        'MiB',
        32,
        `${before.heapMiB.toFixed(1)} before`,
      ),
      row('elements after that', [after.nodes], 'nodes', 40_000, `${before.nodes} before`),
      row('heap with all conversations listed too', [listed.heapMiB], 'MiB', undefined, `${listed.nodes} nodes`),
    ];
  } finally {
    await browser.close();
    await service.stop();
  }
}

const noteOf = ({ wallMs, above }) => `${wallMs.toFixed(0)} ms by the clock, ${above} tasks above 50 ms`;

function busiestIn(path) {
  const sqlite = new Sqlite(path, { readonly: true });
  const query =
    'SELECT guid FROM chat JOIN (SELECT chat_id, count(*) n FROM chat_message_join GROUP BY 1) ON chat_id = chat.ROWID ORDER BY n DESC';
  const guid = sqlite.prepare(query).pluck().get();
  sqlite.close();
  return guid;
}

async function openPage(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(NOTE_VIEWS);
  const session = await context.newCDPSession(page);
  const { processorMs } = await tasksDuring(page, session, async () => {
    await page.goto(url);
    await page.evaluate('drawn');
  });
  return { page, firstTask: processorMs };
}

async function changeView(page, view) {
  await page.evaluate((name) => {
    globalThis.opened ??= performance.now();
    location.hash = `#/${name}`;
  }, view);
  await page.locator(`#main > [data-view="${view}"]:visible`).waitFor();
  await page.evaluate('listed');
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
}

async function memoryOf(session) {
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (wanted) => metrics.find(({ name }) => name === wanted).value;
  return { heapMiB: of('JSHeapUsedSize') / 2 ** 20, nodes: of('Nodes') };
}

/** Returns the longest task of the page's main thread while `run` runs, in processor time and in real time. */
async function tasksDuring(page, session, run) {
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await session.send('Tracing.start', {
    traceConfig: { includedCategories: ['toplevel', '__metadata', 'blink.user_timing'], excludedCategories: ['*'] },
  });
  await run();
  await page.evaluate(`performance.mark('${MARK}')`);
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await ended;
  session.removeAllListeners('Tracing.dataCollected');
  const tasks = tasksIn(events);
  if (tasks.length === 0) throw new Error('the trace has no tasks');
  const longest = (member) => tasks.reduce((most, task) => Math.max(most, task[member]), 0) / 1000;
  return {
    processorMs: longest('tdur'),
    wallMs: longest('dur'),
    above: tasks.filter(({ tdur }) => tdur > 50_000).length,
  };
}

/** Returns the tasks of the page's thread, each with the microtasks that follow it. */
function tasksIn(events) {
  const { pid, tid } = events.find(({ name }) => name === MARK);
  const own = events.filter((event) => event.pid === pid && event.tid === tid && event.dur !== undefined);
  const tasks = [];
  let endsAt = 0;
  for (const { name, ts, dur, tdur = 0 } of own.sort((a, b) => a.ts - b.ts)) {
    if (name === TASK) {
      tasks.push({ dur, tdur });
      endsAt = ts + dur;
    } else if (name === MICROTASKS && ts >= endsAt && tasks.length > 0) {
      const task = tasks.at(-1);
      task.dur += dur;
      task.tdur += tdur;
    }
  }
  return tasks;
}

/** Runs in the page. Scrolls up by one step per frame. */
function scrollUp({ scrollMs, step }) {
  const list = document.getElementById('message-list');
  const endsAt = performance.now() + scrollMs;
  return new Promise((resolve) => {
    const turn = () => {
      if (performance.now() > endsAt) return resolve();
      list.scrollTop -= step;
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  });
}

/** Runs in the page. Scrolls back until `wanted` other messages were shown, or the first message is reached. */
function scrollBack(wanted) {
  const list = document.getElementById('message-list');
  const seen = new Set();
  return new Promise((resolve) => {
    let stillFor = 0;
    let first;
    const turn = () => {
      for (const { dataset } of list.children) if (dataset.id !== undefined) seen.add(dataset.id);
      const now = list.querySelector('[data-id]').dataset.id;
      stillFor = now === first ? stillFor + 1 : 0;
      first = now;
      // If nothing new was shown for 300 frames, this is the first message.
      if (seen.size >= wanted || stillFor > 300) return resolve(seen.size);
      list.scrollTop = 0;
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  });
}

/** Runs in the page. Scrolls to the last conversation. */
function scrollConversations() {
  const list = document.getElementById('conversation-list');
  return new Promise((resolve) => {
    let stillFor = 0;
    let height = 0;
    const turn = () => {
      stillFor = list.scrollHeight === height ? stillFor + 1 : 0;
      height = list.scrollHeight;
      if (stillFor > 300) return resolve();
      list.scrollTop = list.scrollHeight;
      requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  });
}
