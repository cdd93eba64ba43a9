// The home page: one sentence that says whether everything is all right, and the reasons for it.

import { call } from './api.js';
import { barChart, meter, partBar, sparkline, tickStrip } from './charts.js';
import { nameIn, readDirectory } from './directory.js';
import { fill, h, icon } from './dom.js';
import { noteHeld } from './held-watch.js';
import { busily, button, codeLine, countdown, empty, segments, stateMark, tag, toast } from './parts.js';
import { commandOf, isHub, isOwner, may, noteStatus } from './service.js';
import { factsOf, verdictOf } from './verdict.js';
import { responseOf, STATES, shareOf, ticksOf } from './webhook-words.js';
import { addressIn, agoOf, bytesOf, counted, listed, number, personOf, spanOf, timeOf } from './words.js';

/** @import { StatusReport } from '../../domain/status.ts' */
/** @import { Point } from './webhook-words.js' */

const EVERY_MS = 30_000;
const SHOWN = 4;
const NEARLY_FULL = 0.9;

const root = h('div', { class: 'page', id: 'overview', 'data-view': 'overview' });
/** @type {'minutes' | 'days'} */
let span = 'minutes';
let readAtMs = 0;

export function create() {
  return { root, show: () => read() };
}

/** Lets the browser draw and answer before the next part. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/** @param {{ readonly isByItself?: boolean }} [options] */
async function read(options) {
  const overview = isHub() || !isOwner() ? { status: await call('status', options) } : await call('overview', options);
  readAtMs = Date.now();
  const { status } = overview;
  noteStatus(status);
  if (
    status.held_sends !== undefined &&
    overview.approvals !== undefined &&
    overview.approvals.length === status.held_sends
  )
    noteHeld(overview.approvals);
  if (may('read')) await readDirectory().catch(() => {});
  const focused = document.activeElement?.id;
  const isNew = root.childElementCount === 0;
  const held = status.held_sends ?? 0;
  const head = [verdictCard(status, held), factStrip(status)];
  if (isFresh(overview)) {
    fill(root, head, firstSteps());
  } else {
    if (isNew) fill(root, head);
    if (isNew) await pause();
    const cards = [
      macCards(status),
      h(
        'div',
        'cols',
        await eventCard(overview),
        needsCard(overview),
        webhookCard(overview),
        sendCard(overview),
        keyCard(overview),
        hostCard(overview),
      ),
    ];
    if (isNew) await pause();
    fill(root, head, cards);
  }
  if (focused) document.getElementById(focused)?.focus();
}

/** Nothing has been set up yet. @param {any} overview */
const isFresh = ({ status, keys, events }) =>
  !isHub() &&
  status.webhooks.length === 0 &&
  (keys ?? []).length === 0 &&
  (events?.today ?? 0) === 0 &&
  (status.held_sends ?? 0) === 0;

/**
 * @param {StatusReport} status
 * @param {number} held
 */
function verdictCard(status, held) {
  const { tone, text, next, action } = verdictOf(status, held);
  /** @type {HTMLButtonElement} */
  const check = button(
    '',
    [icon('retry'), 'Check now'],
    () =>
      busily(check, async () => {
        if (isOwner() && !isHub()) await call('permissions/check', { method: 'POST' });
        await read();
        toast('Checked');
      }),
    { id: 'check-now' },
  );
  return h(
    'section',
    { class: `verdict ${tone}`, 'aria-labelledby': 'verdict' },
    h('span', 'seal', icon(tone === 'good' ? 'check' : 'alert')),
    h('div', 'grow', h('h1', { id: 'verdict' }, text), h('p', null, next)),
    h('span', 'quiet small hide-s', `Checked ${timeOf(readAtMs)} · up ${spanOf(status.uptime_s)}`),
    action !== undefined ? h('a', { class: 'btn first', href: action[1] }, action[0]) : check,
  );
}

/** @param {StatusReport} status */
const factStrip = (status) =>
  h(
    'ul',
    { class: 'card checks', 'aria-label': 'Health' },
    factsOf(status).map(({ tone, name, text, more }) =>
      h(
        'li',
        tone,
        h('span', 'small soft row', h('span', `dot ${tone}`), name),
        h('strong', null, text),
        more !== '' && h('span', { class: 'quiet small cut', title: more }, more),
      ),
    ),
  );

/** @param {StatusReport} status */
function macCards({ macs }) {
  if (macs === undefined) return undefined;
  if (macs.length === 0)
    return h(
      'section',
      'card',
      empty(
        'mac',
        'No Macs yet',
        'Add the first one on it, with the command that this prints:',
        codeLine('postern fleet add'),
      ),
    );
  const present = macs.filter(({ state }) => state === 'present').length;
  return h(
    'section',
    { class: 'card', id: 'macs' },
    h('header', null, h('h2', null, 'Macs'), h('span', 'quiet small', `${present} of ${macs.length} present`)),
    h(
      'div',
      { class: 'macs', id: 'mac-list' },
      macs.map(({ id, state, version, addresses, seen_s: seenS, backend, behind }) =>
        h(
          'article',
          'mac',
          h(
            'div',
            'row',
            h('b', { class: 'grow cut', dir: 'auto' }, id),
            stateMark(
              state !== 'present' ? 'bad' : backend?.connected === false ? 'bad' : behind ? 'warn' : 'good',
              state !== 'present'
                ? state === 'away'
                  ? 'Away'
                  : 'Unreadable'
                : backend?.connected === false
                  ? 'Cannot read'
                  : behind
                    ? 'Catching up'
                    : 'Present',
            ),
          ),
          h(
            'span',
            'quiet small',
            `Heard ${spanOf(seenS)} ago${behind === null ? '' : ` · ${counted(behind, 'row')} behind`}${version === null ? '' : ` · ${version}`}`,
          ),
          backend?.message && h('span', 'small soft', backend.message),
          addresses.length > 0 && h('span', 'quiet small cut', h('bdi', null, addresses.join(', '))),
        ),
      ),
    ),
  );
}

/** @param {any} overview */
async function eventCard({ events, since }) {
  if (events === undefined) return undefined;
  /** @type {readonly Point[]} */
  const points = span === 'minutes' ? events.minutes : (await call('stats/events?by=day&last=30')).points;
  const bars = points.map(({ at, counts }) => ({
    label: labelOf(at),
    values: [counts.received ?? 0, counts.sent ?? 0, (counts.reactions ?? 0) + (counts.changes ?? 0)],
  }));
  const total = bars.reduce((sum, { values }) => sum + values.reduce((one, value) => one + value, 0), 0);
  const most = bars.reduce(
    (best, bar) => (sumOf(bar) > sumOf(best) ? bar : best),
    bars[0] ?? { label: '', values: [] },
  );
  const title =
    total === 0
      ? `No events in the last ${span === 'minutes' ? 'hour' : '30 days'}`
      : `${counted(total, 'event')} in the last ${span === 'minutes' ? 'hour' : '30 days'}, at most ${number(sumOf(most))} at ${most.label}`;
  const { plot, legend } = barChart({
    bars,
    names: ['received', 'sent', 'changes and reactions'],
    classes: ['b1', 'b2', 'b3'],
    ticks: ticksIn(points),
    title,
  });
  const isYoung = Date.now() - Date.parse(since) < (span === 'minutes' ? 3_600_000 : 86_400_000);
  return h(
    'section',
    'card c8 tall',
    h(
      'header',
      null,
      h('h2', null, 'Events'),
      segments(
        'Span',
        [
          ['minutes', '60 minutes'],
          ['days', '30 days'],
        ],
        span,
        (chosen) => {
          span = chosen;
          void read().catch(() => {});
        },
      ),
    ),
    h(
      'div',
      'body',
      h(
        'div',
        'split',
        h(
          'div',
          'row',
          h('span', 'big', number(span === 'minutes' ? events.today : total)),
          h(
            'span',
            'quiet',
            span === 'minutes' ? 'today' : 'in 30 days',
            isYoung && h('span', 'small block', `counted since ${timeOf(since)}`),
          ),
        ),
        legend,
      ),
      plot,
    ),
  );
}

/** @param {{ readonly values: readonly number[] }} bar */
const sumOf = ({ values }) => values.reduce((total, value) => total + value, 0);

/** @param {string} at */
const labelOf = (at) =>
  span === 'minutes'
    ? new Date(at).toLocaleTimeString([], { timeStyle: 'short' })
    : new Date(at).toLocaleDateString([], { month: 'short', day: 'numeric' });

/** @param {readonly Point[]} points */
const ticksIn = (points) =>
  points.flatMap(({ at }, place) => {
    const isMarked = span === 'minutes' ? new Date(at).getMinutes() % 15 === 0 : (points.length - 1 - place) % 7 === 0;
    return isMarked ? [/** @type {const} */ ([place, labelOf(at)])] : [];
  });

/** @param {any} overview */
function needsCard({ status, approvals = [], webhooks = [], host }) {
  /** @type {HTMLElement[]} */
  const items = [];
  for (const { name, state, detail } of status.permissions) {
    if (state === 'denied')
      items.push(
        todo(
          'lock',
          'bad',
          name === 'full_disk_access' ? 'Give Full Disk Access back' : 'Allow automation of Messages',
          detail,
          h('a', { class: 'btn mini first', href: '#/settings' }, 'Show how'),
        ),
      );
  }
  const [first] = [...approvals].sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at));
  if (first !== undefined) {
    const names = new Set(approvals.map((/** @type {any} */ { key_name: name, key_id: id }) => name ?? id));
    const who = listed([...names]);
    const count = status.held_sends ?? approvals.length;
    items.push(
      todo(
        'hand',
        'accent',
        `${who} ${names.size === 1 ? 'asks' : 'ask'} to send ${count === 1 ? 'a message' : `${count} messages`}`,
        [
          h('span', null, 'To ', h('bdi', null, recipientOf(first)), ': '),
          h('q', { class: 'cut2', dir: 'auto' }, first.text ?? ''),
        ],
        h('a', { class: 'btn mini first', href: '#/approvals' }, count === 1 ? 'Review' : 'Review all'),
        countdown(first.created_at, first.expires_at),
      ),
    );
  }
  for (const { id, name, origin, state, last_error: error } of status.webhooks) {
    if (state !== 'failing' && state !== 'held') continue;
    const known = webhooks.find((/** @type {any} */ one) => one.id === id);
    const behind = known?.behind ?? 0;
    const rest =
      state === 'held'
        ? `${counted(Math.max(1, behind), 'event')} wait and are kept.`
        : behind > 0
          ? `${counted(behind, 'event')} behind.`
          : '';
    items.push(
      todo(
        'alert',
        state === 'held' ? 'warn' : 'bad',
        `${name ?? origin} ${state === 'held' ? 'holds its events' : 'fails'}`,
        `${error ?? ''} ${rest}`,
        h('a', { class: 'btn mini', href: `#/webhooks/${encodeURIComponent(id)}` }, 'See deliveries'),
      ),
    );
  }
  if (host !== undefined && host.disk_total > 0 && 1 - host.disk_free / host.disk_total > NEARLY_FULL) {
    items.push(
      todo(
        'db',
        'warn',
        'The disk is nearly full',
        `${bytesOf(host.disk_free)} are free. A full disk stops Messages, and Postern with it.`,
      ),
    );
  }
  return h(
    'section',
    'card c4 needs',
    h('header', null, h('h2', null, 'Needs you'), items.length > 0 && tag('warn', items.length)),
    items.length === 0
      ? empty('check', 'Nothing needs you', 'Sends to decide on and problems to solve appear here.')
      : h('ul', 'todo', items),
  );
}

/**
 * @param {string} name
 * @param {string} tone
 * @param {string} title
 * @param {import('./dom.js').Children} text
 * @param {...import('./dom.js').Children} actions
 */
const todo = (name, tone, title, text, ...actions) =>
  h(
    'li',
    null,
    h('span', tone, icon(name)),
    h(
      'div',
      'stack tight',
      h('b', { dir: 'auto' }, title),
      h('span', 'soft', text),
      actions.length > 0 && h('div', 'acts', actions),
    ),
  );

/** @param {any} approval */
function recipientOf({ to, members, names }) {
  const [only] = members;
  return members.length === 1 ? (nameIn(`any;-;${only}`) ?? personOf(only, names)) : (nameIn(to) ?? addressIn(to));
}

/** @param {any} overview */
function webhookCard({ webhooks }) {
  if (webhooks === undefined || webhooks.length === 0) return undefined;
  return h(
    'section',
    'card c8 top',
    h('header', null, h('h2', null, 'Webhooks'), h('a', { class: 'small', href: '#/webhooks' }, 'All webhooks')),
    h(
      'table',
      'table cards',
      h('caption', 'unseen', 'Webhooks'),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          ['Name', 'Last 24 hours', 'Typical', 'Waiting'].map((name) =>
            h('th', { scope: 'col', class: /T|W/.test(name[0] ?? '') ? 'num' : '' }, name),
          ),
        ),
      ),
      h(
        'tbody',
        null,
        webhooks.slice(0, SHOWN).map((/** @type {any} */ one) => {
          const [kind = 'off', word = ''] = STATES[one.state] ?? [];
          const share = shareOf(one);
          return h(
            'tr',
            null,
            h(
              'td',
              null,
              h(
                'span',
                'row',
                h('span', { class: `dot ${kind}`, title: word }),
                h(
                  'a',
                  { class: 'what cut', href: `#/webhooks/${encodeURIComponent(one.id)}`, dir: 'auto' },
                  one.name ?? one.origin.replace(/^https?:\/\//, ''),
                ),
                h('span', 'unseen', word),
              ),
            ),
            h(
              'td',
              'wide',
              tickStrip(
                ticksOf(one),
                share === undefined ? 'Nothing was to be delivered in 24 hours' : `${share} delivered in 24 hours`,
              ),
            ),
            h('td', 'num', responseOf(one.median_ms) ?? h('span', 'quiet', 'none')),
            h('td', 'num aside', number(one.behind)),
          );
        }),
      ),
    ),
  );
}

/** @type {readonly (readonly [name: string, kind: string, text: string])[]} */
const OUTCOMES = [
  ['sent', 'b1', 'Sent'],
  ['pending', 'b2', 'Handed to Messages'],
  ['held', 't-warn', 'Waited for you'],
  ['failed', 't-bad', 'Failed'],
  ['unknown', 'b3', 'Outcome not known'],
  ['refused', 'b3', 'Refused'],
];

/** @param {any} overview */
function sendCard({ sends }) {
  if (sends === undefined) return undefined;
  const counts = OUTCOMES.map(([name, kind, text]) => ({ count: sends.today[name] ?? 0, kind, text })).filter(
    ({ count }) => count > 0,
  );
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const title =
    total === 0
      ? 'No sends today'
      : `Of ${counted(total, 'send')} today ${counts.map(({ count, text }) => `${count} ${text.toLowerCase()}`).join(', ')}`;
  return h(
    'section',
    'card c4 top',
    h('header', null, h('h2', null, 'Sends today'), h('span', 'big', number(total))),
    h(
      'div',
      'body',
      total === 0
        ? h('p', 'quiet', 'Nothing was sent through Postern today.')
        : [
            partBar(counts, title),
            h(
              'ul',
              'outcomes',
              counts.map(({ kind, text, count }) => h('li', null, h('i', kind), text, h('b', null, number(count)))),
            ),
          ],
    ),
  );
}

/** @param {any} overview */
function keyCard({ keys }) {
  if (keys === undefined || keys.length === 0) return undefined;
  const used = keys.filter((/** @type {any} */ { last_used_at: at }) => at !== null).slice(0, SHOWN);
  return h(
    'section',
    'card c4 top',
    h('header', null, h('h2', null, 'Keys used today'), h('a', { class: 'small', href: '#/keys' }, 'All keys')),
    used.length === 0
      ? h('p', 'body quiet', 'No limited key has been used yet.')
      : used.map((/** @type {any} */ { id, name, today, hours, last_used_at: at }) =>
          h(
            'div',
            'keyline',
            h('a', { class: 'what cut', href: `#/keys/${id}`, dir: 'auto' }, name),
            hours &&
              sparkline(
                hours,
                `${name}: ${counted(
                  hours.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 0),
                  'action',
                )} in 24 hours`,
              ),
            h('span', 'quiet small cut', today ? wordsOf(today) : ''),
            h('span', 'quiet small end', agoOf(at)),
          ),
        ),
  );
}

/** @param {Record<string, number>} today */
const wordsOf = ({ sent = 0, read = 0, refused = 0 }) =>
  [sent > 0 && `${number(sent)} sent`, read > 0 && `${number(read)} read`, refused > 0 && `${number(refused)} refused`]
    .filter(Boolean)
    .join(', ') || 'nothing today';

/** @param {any} overview */
function hostCard({ host, status }) {
  if (host === undefined) return undefined;
  const {
    macos,
    memory_bytes: memory,
    disk_free: free,
    disk_total: disk,
    chat_db_bytes: chat,
    index_bytes: index,
    upload_bytes: uploads,
  } = host;
  const used = disk > 0 ? 1 - free / disk : 0;
  return h(
    'section',
    'card c4 top',
    h(
      'header',
      null,
      h('h2', null, status.demo ? 'This machine' : 'This Mac'),
      macos && h('span', 'quiet small', macos),
    ),
    h(
      'div',
      'body stack loose',
      disk > 0 &&
        h(
          'div',
          'stack tight',
          h(
            'div',
            'row',
            h('span', 'quiet grow', 'Disk'),
            h('span', 'num', `${bytesOf(free)} of ${bytesOf(disk)} free`),
          ),
          meter(used, `Disk: ${Math.round(used * 100)} % used`, used > NEARLY_FULL ? 'w' : ''),
        ),
      h(
        'dl',
        'kv',
        [
          ['Memory of Postern', memory],
          ['chat.db', chat],
          ['Search index', index],
          ['Files kept for sending', uploads],
        ].map(([name, bytes]) => typeof bytes === 'number' && [h('dt', null, name), h('dd', null, bytesOf(bytes))]),
      ),
    ),
  );
}

/** For a service on which nothing has been set up. */
const firstSteps = () =>
  h(
    'section',
    { class: 'cols', 'aria-label': 'First steps' },
    start(
      'hook',
      'Get your messages somewhere',
      'Every new message is posted to an address of yours. To see some first, without a receiver:',
      commandOf('webhooks listen'),
      'Add a webhook',
      '#/webhooks/new',
    ),
    start(
      'bot',
      'Let an agent help',
      'A limited key reads and writes only where you allow it, and every send waits for you.',
      commandOf('keys add agent --preset assistant --read "Ana Silva" --send "Ana Silva"'),
      'Create a key',
      '#/keys/new',
    ),
    start(
      'chat',
      'Send a first message',
      'From here, or from a terminal:',
      commandOf('send +15550100 "Hello from Postern"'),
      'Write a message',
      '#/messages?new',
    ),
  );

/**
 * @param {string} name
 * @param {string} title
 * @param {string} text
 * @param {string} command
 * @param {string} action
 * @param {string} href
 */
const start = (name, title, text, command, action, href) =>
  h(
    'article',
    'card c4 start',
    h('span', 'mark', icon(name)),
    h('h2', null, title),
    h('p', 'quiet', text),
    codeLine(command),
    h('a', { class: 'btn', href }, action),
  );

setInterval(() => {
  if (!document.hidden && !root.hidden && root.isConnected) void read({ isByItself: true }).catch(() => {});
}, EVERY_MS);
