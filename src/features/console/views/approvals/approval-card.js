// The card of one send that waits for approval: exactly what would be sent, and to whom.

import { fill, h, icon } from '../../parts/old/dom.js';
import { avatar, button, countdown, face, note } from '../../parts/old/parts.js';
import { exactly, showExactly } from '../../parts/old/visible.js';
import { conversationOf, peopleIn, recipientOf } from '../../service/directory.ts';
import { pathOfConversation } from '../../service/route.ts';
import { keyName, may } from '../../service/service.ts';
import { bytesOf, counted, listed, personOf, timeOf } from '../../service/words.ts';

/** @import { Shown } from './approvals.js' */

/**
 * Returns a card that shows what would be sent and to whom, with buttons to approve and to deny it.
 * @param {Shown} approval
 * @param {ReadonlyMap<string, string>} names of the keys
 * @param {(card: HTMLElement, approval: Shown, action: 'approve' | 'deny') => unknown} decide
 */
export function cardOf(approval, names, decide) {
  const {
    id,
    to,
    members,
    text,
    attachments,
    created_at: at,
    key_id: key,
    new_contact: isNew,
    names: known,
  } = approval;
  const conversation = conversationOf(to) ?? conversationOf(`any;-;${to}`);
  const name = recipientOf(approval);
  const exact = h('div', { class: 'exact', dir: 'auto', role: 'region', 'aria-label': 'Exact text', tabindex: 0 });
  const marks = showExactly(exact, text ?? '');
  // Shows addresses beside names, because only an address identifies a person.
  const readers =
    members.length > 1
      ? `Read by ${listed(members.map((one) => (personOf(one, known) === one ? one : `${personOf(one, known)} (${one})`)))}`
      : to;
  const label = (/** @type {string} */ words) => ({ 'aria-label': `${words}: to ${name}` });
  const isOdd = marks > 0;
  const approve = button(
    isOdd ? '' : 'first',
    isOdd ? 'Send it with the hidden characters' : 'Send exactly this',
    () => decide(card, approval, 'approve'),
    { 'data-do': 'approve', ...label(isOdd ? 'Send it with the hidden characters' : 'Send exactly this') },
  );
  const deny = button(isOdd ? 'first' : '', 'Deny', () => decide(card, approval, 'deny'), {
    'data-do': 'deny',
    ...label('Deny'),
  });
  /** @type {HTMLElement} */
  const card = h(
    'article',
    { class: 'card ask', 'data-id': id },
    h(
      'div',
      'to',
      conversation ? face(peopleIn(conversation)) : avatar(name, members[0] ?? to),
      h(
        'div',
        'grow',
        exactly(h('h2', { dir: 'auto' }), `To ${name}`),
        exactly(h('p', 'quiet small address'), readers),
      ),
      h('span', 'time-left'),
    ),
    exact,
    attachments.length > 0 && h('ul', 'files', attachments.map(fileRow)),
    h(
      'div',
      'notes',
      isOdd &&
        note(
          'bad',
          h(
            'p',
            null,
            h(
              'strong',
              null,
              marks === 1 ? 'One character cannot be seen.' : `${counted(marks, 'character')} cannot be seen.`,
            ),
            ' The recipient may read something different from what you see.',
          ),
        ),
      isNew === true &&
        note(
          'warn',
          h(
            'p',
            null,
            members.length > 1 ? 'You have never written to this group.' : 'You have never written to this address.',
          ),
        ),
    ),
    h(
      'div',
      'meta',
      h('span', 'row', icon('key'), exactly(h('span', 'asker'), keyName(key, names))),
      h('span', null, `asked ${timeOf(at)}`),
      approval.send_at && h('span', 'row', icon('clock'), `to be sent ${timeOf(approval.send_at)}`),
      approval.service && h('span', null, `by ${approval.service}`),
    ),
    h(
      'div',
      'acts',
      isOdd ? [deny, approve] : [approve, deny],
      may('read') &&
        h(
          'a',
          {
            class: 'btn bare push',
            href: pathOfConversation(conversation?.id ?? (to.includes(';') ? to : `any;-;${to}`)),
          },
          'See conversation',
        ),
    ),
    h('p', { class: 'outcome', hidden: true }),
  );
  card.dataset.from = at;
  card.dataset.until = approval.expires_at;
  showLeft(card);
  return card;
}

/** @param {HTMLElement} card */
export function showLeft(card) {
  const box = card.querySelector('.time-left');
  if (box !== null) fill(box, countdown(card.dataset.from ?? '', card.dataset.until ?? ''));
}

/** @param {{ readonly name: string, readonly bytes: number, readonly sha256: string }} file */
function fileRow({ name, bytes, sha256 }) {
  return h(
    'li',
    { class: 'row', title: `sha256 ${sha256}` },
    icon('clip'),
    exactly(h('span', 'cut'), name),
    h('span', 'quiet small', bytesOf(bytes)),
  );
}
