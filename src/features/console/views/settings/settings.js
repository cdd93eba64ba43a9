// Preferences of this browser, permissions on macOS, and the settings in config.toml.

import { segments } from '../../parts/old/choices.js';
import { element, fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, codeLine, note, pageHead, stateMark, tag, toast } from '../../parts/old/parts.js';
import { call, currentKey, statusOf } from '../../service/api.ts';
import { forgetKey, isRemembered, keepKey } from '../../service/kept-key.ts';
import { navigationItems } from '../../service/navigation.ts';
import { enterSends, hasLetters, keepPreference, schemeNow } from '../../service/preferences.ts';
import { commandOf, isHub, isOwner, knownStatus, noteStatus } from '../../service/service.ts';
import { number, spanOf } from '../../service/words.ts';
import { SECTIONS, settingName, settingValue } from './setting-names.js';

/** @import { Children } from '../../parts/old/dom.js' */

const root = h('div', { class: 'page', id: 'settings', 'data-view': 'settings' });

export const create = () => ({ root, show });

const PERMISSIONS = { full_disk_access: 'Full Disk Access', automation: 'Automation of Messages' };

async function show() {
  const status = await call('status');
  noteStatus(status);
  const config = isOwner() && !isHub() ? await readConfig() : undefined;
  /** @type {[id: string, title: string, content: Children][]} */
  const groups = [['browser', 'This browser', browserCard()]];
  if (status.permissions.length > 0) groups.push(['permissions', 'Permissions', permissionCards(status)]);
  for (const [title, settings] of config ?? [])
    groups.push([title.toLowerCase().replace(' ', '-'), title, h('section', 'card', settings.map(settingRow))]);
  groups.push(['about', 'About', aboutCard(status)]);
  fill(
    root,
    pageHead('Settings'),
    h(
      'div',
      'settings',
      h(
        'nav',
        { 'aria-label': 'Sections' },
        groups.map(([id, title]) =>
          h(
            'button',
            {
              type: 'button',
              class: 'btn bare',
              'data-section': id,
              onclick: () => root.querySelector(`#s-${id}`)?.scrollIntoView({ behavior: 'smooth' }),
            },
            title,
          ),
        ),
      ),
      h(
        'div',
        'stack loose',
        h(
          'nav',
          { class: 'card phone-more', 'aria-label': 'More' },
          navigationItems()
            .filter(({ view }) => !['overview', 'messages', 'approvals', 'events'].includes(view))
            .map(({ view, icon: name, text }) =>
              h('a', { href: `#/${view}` }, icon(name), h('span', 'grow', text), icon('right')),
            ),
          h('a', { href: 'docs' }, icon('book'), h('span', 'grow', 'API reference'), icon('right')),
        ),
        groups.map(([id, title, content]) => [h('h2', { class: 'sect', id: `s-${id}` }, title), content]),
        config !== undefined && [
          note(
            '',
            h(
              'p',
              null,
              'To change these, edit ',
              h('code', null, 'config.toml'),
              ' and restart Postern. To find the file and check it:',
            ),
          ),
          codeLine(`${commandOf('config path')}\n${commandOf('config check')}`),
        ],
      ),
    ),
  );
  markSection();
}

/** Marks the link to the section that is in view. */
function markSection() {
  if (root.hidden) return;
  const heads = [...root.querySelectorAll('.sect')];
  const read = heads.findLast((head) => head.getBoundingClientRect().top < innerHeight / 3) ?? heads[0];
  for (const link of root.querySelectorAll('[data-section]'))
    link.setAttribute('aria-current', String(read?.id === `s-${link.getAttribute('data-section')}`));
}

/**
 * Returns the settings of each section. Key: the section's title. Returns undefined if the service refuses the request.
 */
async function readConfig() {
  try {
    const { settings } = await call('config');
    /** @type {Map<string, any[]>} */
    const sections = new Map();
    for (const setting of settings) {
      const title = SECTIONS[setting.key.split('.')[0]] ?? 'Server';
      sections.set(title, [...(sections.get(title) ?? []), setting]);
    }
    return sections;
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return undefined;
  }
}

/** @param {{ key: string, value: unknown, is_default: boolean, description: string }} setting */
const settingRow = ({ key, value, is_default: isDefault, description }) =>
  row([settingName(key), ' ', h('code', 'small quiet', key)], description, [
    !isDefault && tag('accent', 'changed'),
    h('span', 'mono soft', settingValue(key, value)),
  ]);

/**
 * @param {Children} name
 * @param {string} text
 * @param {Children} value
 */
const row = (name, text, value) =>
  h('div', 'setting', h('div', null, h('b', null, name), h('p', null, text)), h('div', 'val', value));

function browserCard() {
  /**
   * @param {string} label
   * @param {string} id
   * @param {boolean} isOn
   * @param {(isOn: boolean) => void} changed
   */
  const toggle = (label, id, isOn, changed) => {
    const box = h('input', {
      type: 'checkbox',
      role: 'switch',
      class: 'switch',
      id,
      'aria-label': label,
      checked: isOn,
    });
    box.addEventListener('change', () => changed(box.checked));
    return box;
  };
  return h(
    'section',
    'card',
    row(
      'Theme',
      'Follows the system unless you choose.',
      segments(
        'Theme',
        [
          ['auto', 'System'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ],
        schemeNow(),
        (scheme) => keepPreference('scheme', scheme, 'auto'),
      ),
    ),
    row(
      'Enter sends',
      'Shift+Enter starts a new line.',
      toggle('Enter sends', 'enter-sends', enterSends(), (isOn) =>
        keepPreference('enter', isOn ? 'sends' : 'breaks', 'sends'),
      ),
    ),
    row(
      'Letters as shortcuts',
      'n, / and g with a letter. ⌘K and Escape always work.',
      toggle('Letters as shortcuts', 'letters', hasLetters(), (isOn) =>
        keepPreference('letters', isOn ? 'on' : 'off', 'on'),
      ),
    ),
    row(
      'Keep me signed in',
      'Keeps the key on this device. Otherwise it is kept only in this tab.',
      toggle('Keep me signed in', 'remembers', isRemembered(), (isOn) => keepKey(currentKey(), isOn)),
    ),
    row(
      isOwner() ? 'Signed in as the owner' : 'Signed in with a limited key',
      isOwner() ? 'This key may do everything.' : 'This page shows only what the key may see.',
      button('bad', 'Sign out', signOut, { id: 'sign-out' }),
    ),
  );
}

function signOut() {
  forgetKey();
  location.reload();
}

/** @param {import('../../../../core/model/status.ts').StatusReport} status */
function permissionCards({ permissions }) {
  /** @type {HTMLButtonElement} */
  const check = button('', 'Check now', () =>
    busily(check, async () => {
      await call('permissions/check', { method: 'POST' });
      toast('Checked');
      await show();
    }),
  );
  return [
    permissions.map(({ name, state, detail }) =>
      h(
        'section',
        'card',
        h(
          'header',
          null,
          h('h3', null, PERMISSIONS[name]),
          stateMark(
            state === 'granted' ? 'good' : state === 'denied' ? 'bad' : 'warn',
            { granted: 'Granted', denied: 'Not granted', unknown: 'Not known' }[state],
          ),
        ),
        h('div', 'body', h('p', 'quiet', detail)),
        name === 'full_disk_access' && state === 'denied' && howTo(),
      ),
    ),
    isOwner() && !isHub() && h('p', null, check),
  ];
}

const howTo = () =>
  h(
    'ol',
    'howto',
    h(
      'li',
      null,
      h('span', null, 'Open ', h('b', null, 'System Settings ▸ Privacy & Security ▸ Full Disk Access'), ' on the Mac.'),
    ),
    h(
      'li',
      null,
      h(
        'span',
        null,
        'Switch ',
        h('b', null, 'Postern'),
        ' on. If it is not listed, press + and choose it in ',
        h('span', 'mono', '~/Applications'),
        '.',
      ),
    ),
    h(
      'li',
      null,
      h('span', null, 'Wait. Postern restarts by itself, and this page then shows that it can read messages.'),
    ),
  );

/** @param {import('../../../../core/model/status.ts').StatusReport} status */
function aboutCard({ version, uptime_s: seconds, newest_row: rows, search, capabilities }) {
  const missing = Object.entries(capabilities ?? {}).filter(([, { available }]) => !available);
  return h(
    'section',
    'card',
    row(
      'Version',
      'The version that is running, and for how long.',
      h('span', { class: 'mono soft', id: 'version' }, `${version}, up ${spanOf(seconds)}`),
    ),
    rows !== null && row('chat.db', 'The newest row.', h('span', 'mono soft', number(rows))),
    search &&
      row('Search', 'The full-text index of all messages.', [
        tag(search.state === 'complete' ? 'good' : 'warn', search.state),
        h('span', 'mono soft', number(search.indexed_rows)),
      ]),
    missing.length > 0 &&
      row(
        'Not available here',
        'What this Mac or its macOS cannot do.',
        h('span', 'soft', missing.map(([name]) => name.replaceAll('_', ' ')).join(', ')),
      ),
    row('Guide', 'How everything works, for exactly this version.', h('a', { href: 'guide/' }, 'Open the guide')),
    row('Trouble', 'Says what is wrong and how to fix it.', h('code', null, commandOf('doctor'))),
    !knownStatus().demo && row('This page', 'At this address.', h('span', 'mono soft', location.host)),
  );
}

element('main').addEventListener('scroll', markSection, { passive: true });
