// "Speak as …": lets the user write and react as one of a demo's simulated people. Hidden on every service that is not
// a demo.

import { fill, h } from '../../parts/old/dom.js';
import { call } from '../../service/api.ts';
import { isDemo } from '../../service/service.ts';
import { personOf, reasonOf } from '../../service/words.ts';
import { lastShown, openedConversation } from './thread.js';

/** @import { Conversation } from '../../../../core/model/conversation.ts' */

const MARKS = /** @type {const} */ ([
  ['love', 'love', '❤️'],
  ['like', 'like', '👍'],
  ['dislike', 'dislike', '👎'],
  ['laugh', 'laugh', '😂'],
  ['🎉', 'party', '🎉'],
]);

const speaker = h('select', { id: 'speaker', class: 'input', 'aria-label': 'Speak as' });
const speech = h('input', {
  id: 'speech',
  class: 'input grow',
  required: true,
  maxlength: 20_000,
  autocomplete: 'off',
  placeholder: 'What they write',
  'aria-label': 'What they write',
  dir: 'auto',
});
const result = h('p', { id: 'speak-result', class: 'hint', role: 'status' });
const form = h(
  'form',
  { id: 'speak-form', class: 'stack' },
  h('div', 'row wrap', speaker, speech, h('button', { type: 'submit', class: 'btn' }, 'Say')),
  h(
    'fieldset',
    'row wrap',
    h('legend', 'unseen', 'React to the last message'),
    MARKS.map(([reaction, label, text]) =>
      h(
        'button',
        {
          type: 'button',
          class: 'btn mini',
          'data-reaction': reaction,
          'aria-label': label,
          onclick: () => void react(reaction),
        },
        text,
      ),
    ),
  ),
  result,
);
export const speakBox = h('details', { id: 'speak', hidden: true }, h('summary', null, 'Speak as …'), form);

/** Offers the participants of the open conversation. @param {Conversation | undefined} conversation */
export function showSpeakers(conversation) {
  const { participants = [], names } = conversation ?? {};
  speakBox.hidden = !isDemo() || participants.length === 0;
  const before = speaker.value;
  fill(
    speaker,
    participants.map((address) => h('option', { value: address }, personOf(address, names))),
  );
  if (participants.includes(before)) speaker.value = before;
  result.textContent = '';
}

/** @param {string} reaction */
async function react(reaction) {
  const id = lastShown();
  if (id === undefined) result.textContent = 'There is no message to react to.';
  else await perform('react', { message_id: id, reaction });
}

/**
 * @param {string} what
 * @param {Record<string, unknown>} body
 */
async function perform(what, body) {
  try {
    await call(`demo/${what}`, { method: 'POST', body: { from: speaker.value, ...body } });
    result.textContent = '';
    return true;
  } catch (error) {
    result.textContent = reasonOf(error);
    return false;
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = speech.value;
  if (await perform('say', { text, conversation_id: openedConversation() })) speech.value = '';
});
