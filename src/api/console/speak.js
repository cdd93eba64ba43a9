// "Speak as …": controls a demo's people. Other services have no such thing.

import { call } from './api.js';
import { conversationOf } from './conversations.js';
import { element, personOf, say } from './elements.js';
import { lastShown, openedConversation } from './thread.js';

const box = element('speak');
const form = element('speak-form');
const speaker = element('speaker');
const speech = element('speech');
let isDemo = false;

/** Reads from the status whether the service is a demo. */
export function noteDemo({ demo }) {
  isDemo = demo === true;
}

/** Offers the participants of the open conversation. */
export function showSpeakers() {
  const { participants = [], names } = conversationOf(openedConversation()) ?? {};
  box.hidden = !isDemo || participants.length === 0;
  speaker.replaceChildren(...participants.map((address) => new Option(personOf(address, names), address)));
  say('speak-result', '');
}

async function tell(what, body) {
  try {
    await call(`demo/${what}`, { method: 'POST', body: { from: speaker.value, ...body } });
    say('speak-result', '');
    return true;
  } catch (error) {
    say('speak-result', error.message, true);
    return false;
  }
}

export function offerSpeaking() {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const text = speech.value;
    if (await tell('say', { text, conversation_id: openedConversation() })) speech.value = '';
  });
  for (const button of form.querySelectorAll('[data-reaction]')) {
    button.addEventListener('click', () => {
      const id = lastShown();
      if (id === undefined) say('speak-result', 'There is no message to react to.', true);
      else void tell('react', { message_id: id, reaction: button.dataset.reaction });
    });
  }
}
