// The cards of the overview: Macs, webhooks, sends, keys and the machine.

import { meter, partBar, sparkline, tickStrip } from './charts.js';
import { h } from './dom.js';
import { NEARLY_FULL } from './overview-needs.js';
import { codeLine, empty, stateMark } from './parts.js';
import { responseOf, STATES, shareOf, ticksOf } from './webhook-words.js';
import { agoOf, bytesOf, counted, number, spanOf, timeOf } from './words.js';

/** @import { StatusReport } from '../../core/model/status.ts' */

const SHOWN = 4;

/** @param {StatusReport} status */
export function macCards({ macs }) {
  if (macs === undefined) return undefined;
  if (macs.length === 0)
    return h(
      'section',
      'card',
      empty(
        'mac',
        'No Macs yet',
        'Run this command where you set up the fleet. It prints a line for “postern fleet join” on the new Mac.',
        codeLine('postern fleet add m1'),
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
      macs.map(({ id, state, machines }) => {
        const isBehind = machines.some(({ behind }) => behind > 0);
        const troubles = machines.flatMap(({ machine, problem }) =>
          problem === null ? [] : [`${machine}: ${problem}`],
        );
        const tone = state === 'away' || troubles.length > 0 ? 'bad' : isBehind ? 'warn' : 'good';
        const word = state === 'away' ? 'Away' : isBehind ? 'Catching up' : 'Present';
        return h(
          'article',
          'mac',
          h('div', 'row', h('b', { class: 'grow cut', dir: 'auto' }, id), stateMark(tone, word)),
          h('span', 'quiet small', machines.map(({ machine, state: now }) => `${machine} (${now})`).join(', ')),
          troubles.map((trouble) => h('span', 'small soft', trouble)),
        );
      }),
    ),
  );
}

/** @param {any} overview */
export function webhookCard({ webhooks }) {
  if (webhooks === undefined || webhooks.length === 0) return undefined;
  const isTimed = webhooks.some((/** @type {any} */ { median_ms: median }) => responseOf(median) !== undefined);
  return h(
    'section',
    'card c8',
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
          ['Name', 'Last 24 hours', ...(isTimed ? ['Typical'] : []), 'Waiting'].map((name) =>
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
                share === undefined ? 'No deliveries in 24 hours' : `${share} delivered in 24 hours`,
              ),
            ),
            isTimed && h('td', 'num', responseOf(one.median_ms)),
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
export function sendCard({ sends }) {
  if (sends === undefined) return undefined;
  const counts = OUTCOMES.map(([name, kind, text]) => ({ count: sends.today[name] ?? 0, kind, text })).filter(
    ({ count }) => count > 0,
  );
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const title =
    total === 0
      ? 'No sends today'
      : `${counted(total, 'send')} today: ${counts.map(({ count, text }) => `${count} ${text.toLowerCase()}`).join(', ')}`;
  return h(
    'section',
    'card c4',
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
export function keyCard({ keys }) {
  if (keys === undefined || keys.length === 0) return undefined;
  const used = keys.filter((/** @type {any} */ { last_used_at: at }) => at !== null).slice(0, SHOWN);
  return h(
    'section',
    'card c4',
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

/** @type {Readonly<Record<string, string>>} */
const PROBLEMS = {
  chat_db_unavailable: 'chat.db could not be read',
  full_disk_access_denied: 'Full Disk Access was missing',
  automation_denied: 'Messages could not be automated',
  webhook_failing: 'Deliveries failed',
  webhook_held: 'Deliveries had to wait',
  webhook_paused: 'A receiver wants no more events',
  search_failing: 'Search did not work',
  push_dead: 'Messages may not have arrived',
};

/** @param {StatusReport} status */
export function latelyCard({ problems = [] }) {
  if (problems.length === 0) return undefined;
  return h(
    'section',
    'card c4',
    h('header', null, h('h2', null, 'Lately')),
    problems.slice(0, SHOWN).map(({ code, since, until, subject, hint }) => {
      const lastedS = (Date.parse(until ?? '') - Date.parse(since)) / 1000;
      return h(
        'div',
        { class: 'keyline', title: hint ?? '' },
        h('span', 'what', PROBLEMS[code] ?? hint ?? code),
        h('span', 'quiet small end', until === null ? `since ${timeOf(since)}` : timeOf(since)),
        h('span', { class: 'quiet small cut', dir: 'auto' }, subject ?? ''),
        until !== null && h('span', 'quiet small end', `for ${spanOf(lastedS)}`),
      );
    }),
  );
}

/** @param {any} overview */
export function hostCard({ host, status }) {
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
    'card c4',
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
