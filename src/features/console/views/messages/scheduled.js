// Scheduled messages of the open conversation, above the box for writing.

import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, toast } from '../../parts/old/parts.js';
import { exactly } from '../../parts/old/visible.js';
import { call } from '../../service/api.ts';
import { isHub, may } from '../../service/service.ts';
import { timeOf } from '../../service/words.ts';
import { openedConversation } from './thread.js';

/** @import { Conversation } from '../../../../core/model/conversation.ts' */

export const scheduled = h('ul', { id: 'scheduled', 'aria-label': 'Scheduled', hidden: true });

const KEPT_MS = 120_000;

/** @type {Promise<readonly any[]> | undefined} */
let asked;
let askedAt = 0;

/** Returns the messages that were scheduled through Postern, in all conversations. Cached for `KEPT_MS`. */
export function waitingSends() {
  if (isHub() || !may('send')) return Promise.resolve([]);
  if (asked === undefined || Date.now() - askedAt > KEPT_MS) {
    askedAt = Date.now();
    asked = call('scheduled?source=postern', { isByItself: true }).catch(() => []);
  }
  return asked;
}

/** @param {Conversation} conversation */
export async function showScheduled({ id, participants }) {
  scheduled.hidden = true;
  const waiting = await waitingSends();
  if (openedConversation() !== id) return;
  const here = waiting.filter(({ to }) => to === id || (id.includes(';-;') && participants.includes(to)));
  scheduled.hidden = here.length === 0;
  fill(
    scheduled,
    here.map(({ id: one, text, send_at: at, state }) => {
      /** @type {HTMLButtonElement} */
      const cancel = button('mini', 'Cancel', () =>
        busily(cancel, async () => {
          await call(`scheduled/${encodeURIComponent(one)}`, { method: 'DELETE' });
          asked = undefined;
          toast('Cancelled: nothing is sent');
          item.remove();
        }),
      );
      const item = h(
        'li',
        'row',
        icon('clock'),
        h('span', 'small quiet nowrap', state === 'sending' ? 'Being sent' : `Goes out ${timeOf(at)}`),
        exactly(h('span', { class: 'grow cut', dir: 'auto' }), text ?? ''),
        state === 'scheduled' && cancel,
      );
      return item;
    }),
  );
}
