// One limited key: what it can do, its limits, and a check of its rights for one person or group.

import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, note, pageHead, toast } from '../../parts/old/parts.js';
import { suggestPeople } from '../../parts/old/suggest.js';
import { call } from '../../service/api.ts';
import { goTo } from '../../service/route.ts';
import { agoOf, listed, reasonOf, timeOf } from '../../service/words.ts';
import { entriesOf, expiresAt, expiryField, idsOf, limitFields, listField, rightsIn } from './key-limits.js';
import { expiryOf, kindOf, nameOfEntry, rightsOf } from './key-words.js';
import { menuOf, pathOf, run } from './keys.js';

/** @import { Draft } from './key-limits.js' */

/** Shows a key's rights as a list with ticks and crosses. @param {readonly import('./key-words.js').Right[]} rights */
export const rightList = (rights) =>
  h(
    'ul',
    'can',
    rights.map(({ kind, text }) =>
      h(
        'li',
        kind,
        icon({ yes: 'check', held: 'hand', later: 'clock', no: 'x' }[kind]),
        h(
          'span',
          { dir: 'auto' },
          h('span', 'unseen', { yes: 'Yes: ', held: 'After approval: ', later: 'Not yet: ', no: 'No: ' }[kind]),
          text,
        ),
      ),
    ),
  );

/**
 * @param {HTMLElement} root
 * @param {any} key
 */
export function showKey(root, key) {
  const { id, name, scopes, created_at: created, last_used_at: used } = key;
  const [, kind] = kindOf(scopes);
  /** @type {Draft} */
  const draft = {
    preset: '',
    scopes,
    name,
    read: entriesOf(key.read),
    send: entriesOf(key.send),
    approval: key.approval,
    caps: { ...key.caps },
    days: 'keep',
    dry_run: key.dry_run,
  };
  const rights = h('div', 'body');
  const changed = () => fill(rights, rightList(rightsOf(rightsIn(draft))));
  changed();
  const result = h('p', { class: 'err', role: 'alert' });
  const submit = h('button', { type: 'submit', class: 'btn first' }, 'Save changes');
  const form = h(
    'form',
    {
      class: 'form',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void busily(submit, async () => {
          result.textContent = '';
          try {
            const { read, send, approval, caps, dry_run } = draft;
            await run(() =>
              call(pathOf(id), {
                method: 'PATCH',
                body: {
                  read: idsOf(read),
                  send: idsOf(send),
                  approval,
                  caps,
                  dry_run,
                  ...(draft.days !== 'keep' && { expires_at: expiresAt(draft) }),
                },
              }).then(() => toast('Saved')),
            );
            goTo('#/keys');
          } catch (error) {
            result.textContent = reasonOf(error);
          }
        });
      },
    },
    scopes.some((/** @type {string} */ scope) => scope === 'read' || scope === 'events') &&
      listField(
        'It may read',
        'It sees no other conversations: not in lists, search or events.',
        draft.read,
        (list) => {
          draft.read = list;
          changed();
        },
      ),
    scopes.includes('send') &&
      listField(
        'It may write to',
        'If somebody joins a listed group, the key may no longer write to it.',
        draft.send,
        (list) => {
          draft.send = list;
          changed();
        },
      ),
    limitFields(draft, changed),
    expiryField(draft, key.expires_at === null ? 'never, as now' : `${expiryOf(key).text}, as now`),
    result,
    h('div', 'acts', submit, h('a', { class: 'btn bare', href: '#/keys' }, 'Cancel')),
  );
  fill(
    root,
    pageHead(name, {
      back: ['#/keys', 'All keys'],
      actions: menuOf(key),
      text: `${kind} · made ${timeOf(created)} · ${used === null ? 'never used' : `used ${agoOf(used)}`}`,
    }),
    h(
      'div',
      'wizard',
      form,
      h(
        'aside',
        'stack loose',
        h('section', 'card', h('header', null, h('h2', null, 'What it can do')), rights),
        checkCard(id),
      ),
    ),
  );
}

/**
 * Returns a card in which the user enters a person or group, to see whether the key may read and write there.
 * @param {string} id
 */
function checkCard(id) {
  const input = h('input', {
    class: 'input',
    'aria-label': 'A person, number or group',
    placeholder: 'A person, number or group',
  });
  const answer = h('div', { role: 'status' });
  const check = async (/** @type {string} */ to) => {
    try {
      const { read, send, reason, members } = await call(`${pathOf(id)}/check?to=${encodeURIComponent(to)}`);
      const sends = {
        allowed: 'It may write to them at once.',
        held: 'Its sends to them wait for you.',
        refused: 'It may not write to them.',
      };
      fill(
        answer,
        note(
          send === 'allowed' ? 'accent' : '',
          h(
            'p',
            null,
            read ? 'It may read this conversation. ' : 'It may not read this conversation. ',
            sends[/** @type {keyof typeof sends} */ (send)] ?? send,
            reason === 'scope_missing' && ' The key may not send at all.',
          ),
          members.length > 1 &&
            h('p', null, `Read by ${listed(members.map((/** @type {string} */ one) => nameOfEntry(one)))}.`),
        ),
      );
    } catch (error) {
      fill(answer, note('bad', h('p', null, reasonOf(error))));
    }
  };
  const list = suggestPeople(input, ({ id: to, name }) => {
    input.value = name;
    void check(to);
  });
  /** @type {HTMLFormElement} */
  const form = h(
    'form',
    {
      class: 'body stack',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        if (input.value.trim() !== '') void check(input.value.trim());
      },
    },
    h(
      'div',
      'row',
      h('div', 'grow to-field', input, list),
      button('', 'Check', () => form.requestSubmit()),
    ),
    answer,
  );
  return h('section', 'card', h('header', null, h('h2', null, 'Check what it may do')), form);
}
