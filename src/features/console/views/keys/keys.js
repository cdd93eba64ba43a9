// Limited keys: their rights, their use, and the actions on them.

import { setTitle } from '../../parts/frame.ts';
import { meter } from '../../parts/old/charts.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { confirmed, menu } from '../../parts/old/floating.js';
import { button, codeLine, empty, note, pageHead, tableCard, tag, toast } from '../../parts/old/parts.js';
import { exactly } from '../../parts/old/visible.js';
import { call } from '../../service/api.ts';
import { readDirectory } from '../../service/directory.ts';
import { currentRoute, goTo } from '../../service/route.ts';
import { commandOf, forgetKeys, readKeys } from '../../service/service.ts';
import { agoOf, number, reasonOf } from '../../service/words.ts';
import { showKey } from './key-detail.js';
import { showWizard } from './key-wizard.js';
import { APPROVAL, expiryOf, kindOf, peopleIn, scopesIn } from './key-words.js';

/** @import { KeyRecord } from '../../../../core/model/key.ts' */
/** @import { Route } from '../../service/route.ts' */

/** @typedef {KeyRecord & { readonly today?: { readonly read: number, readonly asked: number, readonly sent: number, readonly refused: number } }} Key */

const MOST = 1000;
/** A key with less than this share of its cap left is nearly used up. */
const SCARCE = 0.2;

const root = h('div', { class: 'page', id: 'keys', 'data-view': 'keys' });

export const create = () => ({ root, show });

/** @param {Route} route */
async function show({ id, query }) {
  await readDirectory().catch(() => {});
  if (id === undefined) return showTable();
  if (id === 'new') {
    if (!isAt(id)) return undefined;
    setTitle('Create a key');
    return showWizard(root, Number(query.get('step') ?? 1));
  }
  const key = await call(pathOf(id));
  if (!isAt(id)) return undefined;
  setTitle(key.name);
  return showKey(root, key);
}

/** Reports whether the address still leads to the table (without `id`), the wizard or a key. @param {string} [id] */
function isAt(id) {
  const route = currentRoute();
  return route.view === 'keys' && route.id === id;
}

/** @param {string} id */
export const pathOf = (id) => `keys/${encodeURIComponent(id)}`;

async function showTable() {
  /** @type {readonly Key[]} */
  const keys = await readKeys();
  if (!isAt()) return;
  fill(
    root,
    pageHead('Keys', {
      text: 'A limited key may do only what you list. Your own key, in config.toml, may do everything: keep it to yourself.',
      actions: keys.length > 0 && h('a', { class: 'btn first', href: '#/keys/new' }, icon('plus'), 'Create a key'),
    }),
    keys.some(({ closed }) => closed.length > 0) && closedNotes(keys),
    keys.length === 0
      ? h(
          'section',
          { class: 'card', id: 'key-none' },
          empty(
            'key',
            'No limited keys yet',
            'A limited key reads and writes only where you allow it, and you can take it back at once. This command creates one for Claude, and every send waits for you:',
            codeLine(commandOf('keys add claude --preset assistant --read "Ana Silva" --send "Ana Silva"')),
            h('a', { class: 'btn first', href: '#/keys/new' }, 'Create a key'),
          ),
        )
      : tableOf(keys),
  );
}

/** @param {readonly Key[]} keys */
function tableOf(keys) {
  const hasToday = keys.some(({ today }) => today !== undefined);
  const heads = ['Name', 'May', 'People', ...(hasToday ? ['Today'] : []), 'Sends left today', 'Used', 'Expires'];
  return [
    tableCard('Keys', 'key-list', heads, [ownRow(hasToday), keys.map((key) => rowOf(key, hasToday))]),
    h(
      'p',
      'quiet small',
      `${number(keys.length)} of ${number(MOST)} keys. A key is shown once, when you create it. Postern keeps only its hash.`,
    ),
  ];
}

/** Shows the owner's key. @param {boolean} hasToday */
const ownRow = (hasToday) =>
  h(
    'tr',
    null,
    nameCell('lock', h('span', 'what', 'Your own key'), 'in config.toml'),
    h('td', 'wide', h('span', 'block', 'everything'), h('span', 'quiet small', 'Sends at once')),
    h('td', 'aside', 'everybody'),
    hasToday && h('td', 'aside quiet', 'not counted'),
    h('td', 'quiet aside', 'no limit'),
    h('td', 'quiet aside', 'now'),
    h('td', 'aside quiet', 'never'),
    h('td', 'aside'),
  );

/**
 * @param {string} symbol
 * @param {HTMLElement} name
 * @param {string} kind
 */
const nameCell = (symbol, name, kind) =>
  h('td', null, h('span', 'row', icon(symbol), h('span', 'stack tight grow', name, h('span', 'quiet small', kind))));

/**
 * @param {Key} key
 * @param {boolean} hasToday
 */
function rowOf(key, hasToday) {
  const { id, name, scopes, read, send, approval, caps, remaining, dry_run: isDry, last_used_at: used } = key;
  const [symbol, kind] = kindOf(scopes);
  const canSend = scopes.includes('send');
  const expiry = expiryOf(key);
  const link = exactly(h('a', { class: 'what cut', href: `#/keys/${id}`, dir: 'auto' }), name);
  const reads = scopes.some((scope) => scope === 'read' || scope === 'events');
  const people = h('td', { class: 'aside' });
  const words = [reads && `reads ${peopleIn(read)}`, canSend && `writes to ${peopleIn(send)}`]
    .filter(Boolean)
    .join('; ');
  people.append(h('span', { class: 'cut2', title: words, dir: 'auto' }, words || 'nobody'));
  return h(
    'tr',
    { 'data-id': id },
    nameCell(symbol, link, kind),
    h(
      'td',
      'wide',
      h('span', 'block nowrap', scopesIn(scopes)),
      canSend && h('span', 'quiet small nowrap', isDry ? 'Every send is a trial' : (APPROVAL[approval] ?? approval)),
    ),
    people,
    hasToday && h('td', 'wide', todayTags(key.today)),
    h(
      'td',
      'aside',
      canSend && caps !== null && remaining !== null
        ? leftOf(remaining.per_day, caps.per_day)
        : h('span', 'quiet', 'cannot send'),
    ),
    h('td', 'quiet nowrap aside', used === null ? 'never' : agoOf(used)),
    h('td', { class: `nowrap ${expiry.isSoon ? 'soon-text' : 'quiet'}`, 'data-name': 'Expires' }, expiry.text),
    h('td', 'end aside', menuOf(key)),
  );
}

/** @param {Key['today']} today */
function todayTags(today) {
  if (today === undefined) return undefined;
  const { read, asked, sent, refused } = today;
  if (read + asked + sent + refused === 0) return h('span', 'quiet', 'nothing');
  return h(
    'span',
    'row wrap',
    read > 0 && tag('', `${number(read)} read`),
    asked > sent && tag('warn', `${number(asked)} asked`),
    sent > 0 && tag('accent', `${number(sent)} sent`),
    refused > 0 && tag('bad', `${number(refused)} refused`),
  );
}

/**
 * @param {number} left
 * @param {number} of
 */
const leftOf = (left, of) =>
  h(
    'span',
    'stack tight limit',
    h('span', 'num small', `${left} of ${of}`),
    meter(of === 0 ? 0 : left / of, `${left} of ${of} sends left today`, of > 0 && left / of < SCARCE ? 'w' : ''),
  );

/** @param {Key} key */
export function menuOf(key) {
  const { id, name } = key;
  return menu(`More for ${name}`, [
    ['pen', 'Change limits', () => goTo(`#/keys/${id}`)],
    ['check', 'Check what it may do', () => goTo(`#/keys/${id}`)],
    ['retry', 'New secret …', () => rotate(key)],
    ['log', 'Show in audit log', () => goTo(`#/audit?key=${id}`)],
    '-',
    ['x', 'Revoke …', () => revoke(key), 'bad'],
  ]);
}

/** @param {Key} key */
export async function revoke({ id, name }) {
  const isSure = await confirmed({
    title: `Revoke ${name}?`,
    text: 'It stops working at once. Its webhooks are removed, and its waiting sends never go out. This cannot be undone.',
    action: 'Revoke key',
  });
  if (!isSure) return;
  await run(async () => {
    await call(pathOf(id), { method: 'DELETE' });
    toast(`${name} is revoked`);
    goTo('#/keys');
  });
}

/** @param {Key} key */
export async function rotate({ id, name }) {
  const isSure = await confirmed({
    title: `Make a new secret for ${name}?`,
    text: 'The secret it uses now stays valid for 24 hours.',
    action: 'Make a new secret',
    isBad: false,
  });
  if (!isSure) return;
  await run(async () => {
    const made = await call(`${pathOf(id)}/rotate`, { method: 'POST' });
    await confirmed({
      title: `The new secret of ${name}`,
      text: [h('p', null, 'You will not be able to see it again.'), codeLine(made.key, 'Copy the key')],
      action: 'Done',
      isBad: false,
    });
  });
}

/** @param {() => Promise<unknown>} action */
export async function run(action) {
  try {
    await action();
    forgetKeys();
  } catch (error) {
    toast(reasonOf(error), true);
  }
}

/**
 * Returns notes about groups that a key may no longer write to, because somebody joined.
 * @param {readonly Key[]} keys
 */
const closedNotes = (keys) =>
  keys.flatMap((key) =>
    key.closed.map(({ conversation_id: group, joined }) =>
      note(
        'warn',
        h(
          'p',
          null,
          h('strong', null, `${key.name} may not write to ${peopleIn([group])} any more`),
          `: ${peopleIn(joined)} joined since you listed it.`,
        ),
        h(
          'p',
          'acts',
          button(
            'mini',
            joined.length === 1 ? 'Allow the group with the new member' : 'Allow the group with the new members',
            () =>
              run(async () => {
                // Sending the key's list again records the current members of the group.
                await call(pathOf(key.id), { method: 'PATCH', body: { send: key.send } });
                toast(`${key.name} may write to the group again`);
                await showTable();
              }),
          ),
        ),
      ),
    ),
  );
