// Pictures, sounds and files of a message. Loading one takes a request, and all clients share one limit on requests.

import { fill, h, icon } from '../../parts/old/dom.js';
import { button } from '../../parts/old/parts.js';
import { bytesAt, statusOf } from '../../service/api.ts';
import { hasSpare, isScarce } from '../../service/budget.ts';
import { bytesOf, reasonOf } from '../../service/words.ts';
import { addressOf, typeOf } from './attachment-files.js';

/**
 * @typedef {{ readonly name: string, readonly path: string, readonly at: string, readonly bytes: number,
 *   readonly type: string | undefined, readonly transcript?: string | undefined,
 *   readonly width?: number | undefined, readonly height?: number | undefined, readonly isHere: boolean,
 *   readonly sticker?: { readonly description?: string } | undefined }} Attachment
 * @typedef {HTMLButtonElement & { show?: (isByItself: boolean) => Promise<void>, isBeside?: boolean }} Offer
 */

const AT_ONCE = 6;
const THUMBNAIL_PIXELS = 480;
const SHOWN_PIXELS = 1568;

/** @type {Offer[]} */
const waiting = [];
let running = 0;

/**
 * @param {Element} box
 * @param {any} message
 */
export function showAttachments(box, message) {
  box.append(...attachmentsIn(message).map((one) => offerOf(one)));
  box.classList.toggle('many', box.querySelectorAll('.picture').length > 1);
}

/**
 * @param {any} message
 * @returns {Attachment[]}
 */
export const attachmentsIn = ({ id, attachments, details }) =>
  (details?.attachments ?? attachments.map((/** @type {string} */ path) => ({ path }))).map(
    (/** @type {any} */ known, /** @type {number} */ index) => {
      const { n = index, path, bytes, state, mime_type: type, transcript, width, height, sticker } = known;
      const name = known.name ?? path.split('/').at(-1);
      return {
        name,
        path: path ?? name,
        at: `messages/${encodeURIComponent(id)}/attachments/${n}`,
        bytes: bytes ?? Number.POSITIVE_INFINITY,
        type: typeOf(name, type),
        isHere: state === 'available',
        transcript,
        width,
        height,
        sticker,
      };
    },
  );

/** A picture loads when it becomes visible; everything else loads on demand. */
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    waiting.push(/** @type {Offer} */ (target));
  }
  next();
});

function next() {
  while (running < AT_ONCE && waiting.length > 0 && !isScarce()) {
    const control = waiting.shift();
    if (control?.show === undefined || !control.isConnected) continue;
    if (control.isBeside && !hasSpare()) continue;
    running += 1;
    void control.show(true).finally(() => {
      running -= 1;
      next();
    });
  }
}

/**
 * Returns a control that shows or offers an attachment.
 * @param {Attachment} attachment
 * @param {boolean} [isBeside] true in the details pane; its pictures load without a click only if `hasSpare` allows it
 */
export function offerOf(attachment, isBeside = false) {
  const { name, path, type, width, height, transcript } = attachment;
  const kind = type?.split('/')[0];
  if (kind === 'audio') return voiceOf(attachment);
  /** @type {Offer} */
  const control = h('button', { type: 'button', title: path }, name);
  if (kind === 'image') {
    control.className = `picture waiting ${attachment.sticker === undefined ? '' : 'sticker'}`.trim();
    // Reserves room for the picture before it loads.
    if (width !== undefined && height !== undefined && height > 0) control.style.aspectRatio = `${width} / ${height}`;
    control.isBeside = isBeside;
    control.show = (isByItself) => showThumbnail(control, attachment, isByItself);
    control.onclick = () => void control.show?.(false);
    seen.observe(control);
    return control;
  }
  asFile(control, attachment);
  if (kind === 'video') control.onclick = () => void play(control, attachment, 'video');
  return transcript === undefined
    ? control
    : h('div', 'stack tight', control, h('p', { class: 'small soft', dir: 'auto' }, transcript));
}

/**
 * Shows a file with its name and size.
 * @param {HTMLButtonElement} control
 * @param {Attachment} attachment
 */
function asFile(control, attachment) {
  const { name, bytes } = attachment;
  const ending = /\.(\w{1,4})$/.exec(name)?.[1]?.toUpperCase() ?? '';
  control.className = 'bubble bare doc';
  control.style.aspectRatio = '';
  fill(
    control,
    h('span', { class: 'ext', 'aria-hidden': 'true' }, ending === '' ? icon('file') : ending),
    h(
      'span',
      'stack tight grow',
      h('b', { class: 'cut2', dir: 'auto' }, name),
      Number.isFinite(bytes) && h('span', 'small quiet', bytesOf(bytes)),
    ),
  );
  control.onclick = () => void offer(control, attachment);
}

/**
 * Shows a voice message with its transcript.
 * @param {Attachment} attachment
 */
function voiceOf(attachment) {
  const { name, path, transcript } = attachment;
  const box = h('div', 'bubble bare voice');
  const control = h(
    'button',
    { type: 'button', class: 'btn icon', title: path, 'aria-label': `Play ${name}` },
    icon('play'),
  );
  control.onclick = () => void play(control, attachment, 'audio');
  return fill(
    box,
    control,
    h('span', 'small quiet cut', transcript === undefined ? name : 'Voice message'),
    transcript !== undefined && h('p', { class: 'words', dir: 'auto' }, `“${transcript}”`),
  );
}

/**
 * @param {HTMLButtonElement} control
 * @param {Attachment} attachment
 * @param {boolean} isByItself
 */
async function showThumbnail(control, attachment, isByItself) {
  const { name } = attachment;
  try {
    const picture = new Image();
    picture.alt = attachment.sticker?.description ?? name;
    picture.src = await addressOf(attachment, THUMBNAIL_PIXELS, isByItself);
    await picture.decode();
    control.replaceChildren(picture);
    control.classList.remove('waiting');
    control.setAttribute('aria-label', `Show ${name}`);
    control.onclick = () => void enlarge(attachment);
  } catch (error) {
    if (isByItself && statusOf(error) === 0) return; // A click can still load the picture.
    asFile(control, attachment);
    if (statusOf(error) !== undefined) note(control, statusOf(error) === 404 ? 'not on disk' : 'could not be loaded');
  }
}

/**
 * @param {HTMLElement} control
 * @param {string} text
 */
function note(control, text) {
  const box = control.querySelector('.small') ?? control;
  box.textContent = text;
}

/** @param {Attachment} attachment */
async function enlarge(attachment) {
  const picture = h('img', { alt: attachment.name, src: await addressOf(attachment, SHOWN_PIXELS) });
  /** @type {HTMLButtonElement} */
  const download = button('', 'Download', () => offer(download, attachment));
  /** @type {HTMLDialogElement} */
  const viewer = h(
    'dialog',
    {
      id: 'viewer',
      'aria-label': 'Picture',
      onclick: (/** @type {Event} */ { target }) => target === viewer && viewer.close(),
    },
    picture,
    h(
      'p',
      'acts',
      download,
      button('', 'Close', () => viewer.close()),
    ),
  );
  viewer.addEventListener('close', () => viewer.remove());
  document.body.append(viewer);
  viewer.showModal();
}

/**
 * @param {HTMLButtonElement} control
 * @param {Attachment} attachment
 * @param {'audio' | 'video'} kind
 */
async function play(control, attachment, kind) {
  control.disabled = true;
  try {
    const player = h(kind, { controls: true, src: await addressOf(attachment), title: attachment.name });
    player.onerror = () => {
      asFile(control, attachment);
      control.disabled = false;
      player.replaceWith(control);
    };
    control.replaceWith(player);
    await player.play().catch(() => {});
  } catch (error) {
    control.disabled = false;
    note(control, reasonOf(error));
  }
}

/**
 * Offers the original for download.
 * @param {HTMLButtonElement} control
 * @param {Attachment} attachment
 */
async function offer(control, { name, at }) {
  control.disabled = true;
  try {
    const { bytes } = await bytesAt(at);
    // Ignores the type in the answer, because the sender chose it. A blob of HTML would run in the console's origin,
    // without the console's Content-Security-Policy.
    const link = h('a', {
      href: URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' })),
      download: name,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    note(control, statusOf(error) === 404 ? 'not on disk' : reasonOf(error));
  } finally {
    control.disabled = false;
  }
}
