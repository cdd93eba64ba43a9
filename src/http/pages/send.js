import { call } from './api.js';
import { choose } from './conversations.js';
import { element, say } from './elements.js';
import { openedConversation } from './thread.js';

/** The box to send with. */
export function offerSending() {
  const form = element('send-form');
  const body = element('body');
  body.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form.querySelector('button'), element('recipient').value, body);
  });
}

async function send(button, recipient, body) {
  if (button.disabled) return;
  button.disabled = true;
  say('send-result', 'sending …');
  try {
    const message = await call('messages', { method: 'POST', body: { recipient, body: body.value } });
    body.value = '';
    const { id, status, conversation_id: conversation } = message;
    say('send-result', id === '' ? 'handed to Messages; its row has not appeared yet' : `row ${id}, ${status}`);
    if (conversation !== '' && conversation !== openedConversation()) {
      await choose(await call(`conversations/${encodeURIComponent(conversation)}?include=contacts`));
    }
  } catch (error) {
    say('send-result', error.message, true);
  } finally {
    button.disabled = false;
    body.focus();
  }
}
