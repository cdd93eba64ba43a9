// The newest pictures and files of a conversation.

import { fill, h } from '../../parts/old/dom.js';
import { call } from '../../service/api.ts';
import { isHub } from '../../service/service.ts';
import { attachmentsIn, offerOf } from './attachments.js';

const MESSAGES = 30;
const PICTURES = 6;
const FILES = 5;

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
 * Returns a box that loads the newest pictures and files of a conversation once it is scrolled into view.
 * @param {string} conversation
 */
export function filesOf(conversation) {
  const box = h('div', 'files');
  if (!isHub()) {
    unseen.set(box, () => load(box, conversation));
    seen.observe(box);
  }
  return box;
}

/**
 * @param {HTMLElement} box
 * @param {string} conversation
 */
async function load(box, conversation) {
  /** @type {import('../../../../core/model/listed-attachment.ts').ListedAttachment[]} */
  const listed = await call(`conversations/${encodeURIComponent(conversation)}/attachments?limit=${MESSAGES}`);
  const all = listed
    .flatMap((one) => attachmentsIn({ id: one.message_id, attachments: [], details: { attachments: [one] } }))
    .filter(({ isHere }) => isHere);
  const pictures = all.filter(({ type, sticker }) => type?.startsWith('image/') && sticker === undefined);
  const files = all.filter(({ type }) => !/^(?:image|audio)\//.test(type ?? ''));
  fill(
    box,
    part('Pictures', 'shots', pictures.slice(0, PICTURES)),
    part('Files', 'stack tight', files.slice(0, FILES)),
  );
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
