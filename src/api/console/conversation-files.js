// The pictures and files of a conversation, which are found by searching. Without search nothing is shown.

import { pageOf, statusOf } from './api.js';
import { attachmentsIn, offerOf } from './attachments.js';
import { fill, h } from './dom.js';
import { isHub } from './service.js';

const MESSAGES = 30;
const PICTURES = 6;
const FILES = 5;

/** False once the service has answered that search is off. */
let canSearch = true;
/** Sections that load when they first become visible. @type {WeakMap<Element, () => Promise<void>>} */
const unseen = new WeakMap();
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    void unseen
      .get(target)?.()
      .catch(() => {});
  }
});

/**
 * Shows the newest pictures and files of a conversation, once they become visible.
 * @param {string} conversation
 */
export function filesOf(conversation) {
  const place = h('div', 'files');
  if (canSearch && !isHub()) {
    unseen.set(place, () => load(place, conversation));
    seen.observe(place);
  }
  return place;
}

/**
 * @param {HTMLElement} place
 * @param {string} conversation
 */
async function load(place, conversation) {
  const query = `q=has:attachment&conversation_id=${encodeURIComponent(conversation)}&limit=${MESSAGES}&include=details`;
  try {
    const { items } = await pageOf(`search?${query}`);
    const all = items.flatMap(({ message }) => attachmentsIn(message)).filter(({ isHere }) => isHere);
    const pictures = all.filter(({ type, sticker }) => type?.startsWith('image/') && sticker === undefined);
    const files = all.filter(({ type }) => !/^(?:image|audio)\//.test(type ?? ''));
    fill(
      place,
      part('Pictures', 'shots', pictures.slice(0, PICTURES)),
      part('Files', 'stack tight', files.slice(0, FILES)),
    );
  } catch (error) {
    if (statusOf(error) === 404) canSearch = false;
  }
}

/**
 * @param {string} title
 * @param {string} kind
 * @param {readonly import('./attachments.js').Attachment[]} attachments
 */
const part = (title, kind, attachments) =>
  attachments.length > 0 &&
  h(
    'section',
    null,
    h('h3', null, title),
    h(
      'div',
      kind,
      attachments.map((one) => offerOf({ ...one, width: undefined, height: undefined }, true)),
    ),
  );
