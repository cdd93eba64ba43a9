// Creates a key in four steps. The third step ends by creating it, and the fourth shows its secret.

import { DEFAULT_CAPS, PRESETS } from '../../../../core/model/key.ts';
import { field, option } from '../../parts/old/choices.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, note, pageHead } from '../../parts/old/parts.js';
import { call } from '../../service/api.ts';
import { goTo } from '../../service/route.ts';
import { forgetKeys } from '../../service/service.ts';
import { reasonOf } from '../../service/words.ts';
import { connectStep, stopLooking } from './key-connect.js';
import { rightList } from './key-detail.js';
import { expiresAt, expiryField, idsOf, limitFields, listField, rightsIn } from './key-limits.js';
import { rightsOf } from './key-words.js';

/** @import { Draft } from './key-limits.js' */

const STEPS = ['What for', 'Who', 'Limits', 'Connect'];
const NEXT = ['Choose people', 'Set limits', 'Create key', 'Done'];

/**
 * The purposes of a key, with the rights of their presets.
 * @type {readonly { readonly preset: string, readonly title: string, readonly text: string, readonly scopes: readonly string[], readonly approval: string }[]}
 */
const PURPOSES = [
  {
    preset: 'assistant',
    title: 'An assistant',
    text: 'Claude, ChatGPT, Cursor. Reads and writes where you allow it; every send waits for you.',
    ...PRESETS.assistant,
  },
  {
    preset: 'notifier',
    title: 'A notifier',
    text: 'A script that writes to people you list. It reads nothing.',
    ...PRESETS.notifier,
  },
  {
    preset: 'reader',
    title: 'A reader',
    text: 'A dashboard or archive. It never sends.',
    ...PRESETS.reader,
  },
  {
    preset: 'approver',
    title: 'An approver',
    text: 'A shortcut on your phone that approves or denies sends. It cannot read conversations or send messages.',
    ...PRESETS.approver,
  },
  { preset: '', title: 'Something else', text: 'Choose each right yourself.', scopes: ['read'], approval: 'always' },
];

/** @type {readonly (readonly [string, string, string])[]} */
const SCOPES = [
  ['read', 'Read', 'Messages, conversations, search.'],
  ['events', 'Events', 'New messages and reactions, as they arrive.'],
  ['send', 'Send', 'Messages to people you list.'],
  ['webhooks', 'Webhooks', 'Events posted to programs on this machine.'],
  ['approve', 'Approve', 'Decide on sends that wait.'],
];

/** @returns {Draft} */
const newDraft = () => ({
  preset: 'assistant',
  scopes: [...PRESETS.assistant.scopes],
  name: '',
  read: [],
  send: [],
  approval: 'always',
  caps: { ...DEFAULT_CAPS },
  days: '90',
  dry_run: false,
});

let draft = newDraft();
/** The created key, with its secret. @type {any} */
let made;

/**
 * @param {HTMLElement} root
 * @param {number} wanted
 */
export function showWizard(root, wanted) {
  stopLooking();
  // Once the key exists, the wizard stays at step 4, because an earlier step would create a second key. Only a return
  // to step 1 starts a new draft.
  if (made !== undefined && wanted === 1) {
    made = undefined;
    draft = newDraft();
  }
  const most = draft.name === '' ? 1 : isUndecided() ? 2 : 3;
  const step = made === undefined ? Math.min(Math.max(1, wanted), most) : 4;
  const rights = h('div', 'body');
  const changed = () => fill(rights, rightList(rightsOf(rightsIn(draft))));
  changed();
  const result = h('p', { class: 'err', role: 'alert', id: 'key-result' });
  const next = h('button', { type: 'submit', class: 'btn first' }, NEXT[step - 1] ?? '');
  const body = [
    () => purposeStep(changed),
    () => peopleStep(changed),
    () => limitStep(changed),
    () => connectStep(made),
  ][step - 1]?.();
  const form = h(
    'form',
    {
      class: 'form',
      id: 'key-form-new',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        if (step < 3) goTo(`#/keys/new?step=${step + 1}`);
        else if (step === 4) goTo('#/keys');
        else void busily(next, () => make(result));
      },
    },
    body,
    result,
    h(
      'div',
      'acts',
      (step === 2 || step === 3) && h('a', { class: 'btn', href: `#/keys/new?step=${step - 1}` }, 'Back'),
      next,
    ),
  );
  fill(
    root,
    pageHead('Create a key', { back: ['#/keys', 'All keys'] }),
    h(
      'ol',
      'steps',
      STEPS.map((name, index) =>
        h(
          'li',
          { class: index + 1 < step ? 'done' : '', 'aria-current': index + 1 === step ? 'step' : undefined },
          h('span', 'row', index + 1 < step && icon('check'), name),
        ),
      ),
    ),
    h('div', 'wizard', form, h('aside', 'card', h('header', null, h('h2', null, 'What it can do')), rights)),
  );
  if (step < 4)
    /** @type {HTMLElement | null} */ (form.querySelector('input:checked, [aria-pressed="true"], input'))?.focus();
}

const reads = () => draft.scopes.some((scope) => scope === 'read' || scope === 'events');
const sends = () => draft.scopes.includes('send');
/** Reports whether the user has yet to choose whom the key may read or write to. Choosing nobody counts as a choice. */
const isUndecided = () =>
  (reads() && draft.read !== '' && draft.read.length === 0) ||
  (sends() && draft.send !== '' && draft.send.length === 0);

/** @param {() => void} changed */
function purposeStep(changed) {
  const name = h('input', {
    class: 'input',
    required: true,
    maxlength: 64,
    autocomplete: 'off',
    value: draft.name,
    placeholder: 'claude-on-my-laptop',
  });
  name.addEventListener('input', () => (draft.name = name.value.trim()));
  const scopes = h('div', { class: 'pick two', hidden: draft.preset !== '' });
  const showScopes = () =>
    fill(
      scopes,
      SCOPES.map(([value, title, text]) =>
        option({
          type: 'checkbox',
          name: 'scope',
          value,
          title,
          text,
          checked: draft.scopes.includes(value),
          onchange: () => {
            draft.scopes = draft.scopes.includes(value)
              ? draft.scopes.filter((one) => one !== value)
              : [...draft.scopes, value];
            changed();
          },
        }),
      ),
    );
  showScopes();
  return h(
    'fieldset',
    'stack loose',
    h('legend', null, 'What is it for?'),
    h(
      'div',
      'pick',
      PURPOSES.map(({ preset, title, text, scopes: given, approval }) =>
        option({
          type: 'radio',
          name: 'purpose',
          value: preset,
          title,
          text,
          checked: draft.preset === preset,
          onchange: () => {
            Object.assign(draft, { preset, scopes: [...given], approval });
            scopes.hidden = preset !== '';
            showScopes();
            changed();
          },
        }),
      ),
    ),
    scopes,
    field('Name', name, 'Shown in the audit log and next to what the key sends.'),
  );
}

/** @param {() => void} changed */
function peopleStep(changed) {
  return h(
    'fieldset',
    'stack loose',
    h('legend', null, 'Whose conversations?'),
    reads() &&
      listField(
        'It may read',
        'It sees no other conversations: not in lists, search or events.',
        draft.read,
        (list) => {
          draft.read = list;
          changed();
        },
      ),
    sends() &&
      listField('It may write to', 'It can write to nobody else.', draft.send, (list) => {
        draft.send = list;
        changed();
      }),
    reads() &&
      sends() &&
      h(
        'div',
        null,
        button('mini', 'Use the same list as above', () => {
          draft.send = draft.read;
          goTo('#/keys/new?step=2');
        }),
      ),
    (reads() || sends()) &&
      note('warn', h('p', null, 'Choose “Everybody” with care: a message can tell an agent to forward what it reads.')),
    !reads() && !sends() && note('', h('p', null, 'It neither reads nor sends, so there is nobody to choose.')),
  );
}

/** @param {() => void} changed */
const limitStep = (changed) =>
  h(
    'fieldset',
    'stack loose',
    h('legend', null, 'How far may it go?'),
    limitFields(draft, changed),
    h('div', 'two', expiryField(draft)),
  );

/** @param {HTMLElement} result */
async function make(result) {
  result.textContent = '';
  const { name, preset, scopes, read, send, approval, caps, dry_run } = draft;
  try {
    made = await call('keys?include=clients', {
      method: 'POST',
      body: {
        name,
        ...(preset === '' || preset === 'approver' ? { scopes } : { preset }),
        read: idsOf(read),
        send: idsOf(send),
        approval,
        caps,
        dry_run,
        expires_at: expiresAt(draft),
      },
    });
    forgetKeys();
    goTo('#/keys/new?step=4', { replaces: true });
  } catch (error) {
    result.textContent = reasonOf(error);
  }
}
