// Pictures, sounds and files of a message. Each is a request that counts for the limit of all clients.

import { bytesOf } from './api.js';
import { isScarce } from './budget.js';
import { element } from './elements.js';

const AT_ONCE = 6;
const THUMBNAIL_PIXELS = 480;
const SHOWN_PIXELS = 1568;
const KEPT = 100;

/** By file extension. SVG could contain a script: it is offered, never shown. */
const TYPES = {
  avif: 'image/avif',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  tiff: 'image/tiff',
  webp: 'image/webp',
  caf: 'audio/x-caf',
  amr: 'audio/amr',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  mp4: 'video/mp4',
};
/** Types the service converts to, which no page can run. */
const CONVERTED = new Set(['image/jpeg', 'audio/mp4']);
/** A moving picture would stand still. */
const AS_IT_IS = new Set(['image/gif']);
const SHOWN_EVERYWHERE = new Set(['image/jpeg', 'image/png', 'image/webp']);
const SMALL_BYTES = 500_000;
/** Sounds that every browser plays. */
const PLAYABLE = new Set(['audio/mp4', 'audio/mpeg', 'audio/wav']);

/** False once the service has said that it has no converter. */
let canConvert = true;

/** A small picture that every browser shows is not converted. */
const needsConversion = ({ type, bytes }) =>
  type.startsWith('image/')
    ? !AS_IT_IS.has(type) && !(SHOWN_EVERYWHERE.has(type) && bytes <= SMALL_BYTES)
    : type.startsWith('audio/') && !PLAYABLE.has(type);

/** Object URLs by path, the newest last. */
const kept = new Map();
const waiting = [];
let running = 0;

const typeOf = (name) => {
  const ending = /\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? '';
  return Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
};

export function showAttachments(place, message) {
  for (const [index, path] of message.attachments.entries()) {
    const name = path.split('/').at(-1);
    const details = message.details?.attachments[index];
    const at = `messages/${encodeURIComponent(message.id)}/attachments/${details?.n ?? index}`;
    const bytes = details?.bytes ?? Number.POSITIVE_INFINITY;
    place.append(buttonFor({ name, path, at, bytes, type: typeOf(name) }));
  }
}

/** A picture loads when it becomes visible, everything else on demand. */
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    waiting.push(target);
  }
  next();
});

function next() {
  while (running < AT_ONCE && waiting.length > 0 && !isScarce()) {
    const button = waiting.shift();
    if (!button.isConnected) continue;
    running += 1;
    void button.show(true).finally(() => {
      running -= 1;
      next();
    });
  }
}

function buttonFor(attachment) {
  const { name, path, type } = attachment;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = name;
  button.title = path;
  const kind = type?.split('/')[0];
  if (kind === 'image') {
    button.show = (isByItself) => showThumbnail(button, attachment, isByItself);
    button.onclick = () => void button.show(false);
    seen.observe(button);
  } else if (kind === 'audio' || kind === 'video') {
    button.textContent = `▶ ${name}`;
    button.onclick = () => void play(button, attachment, kind);
  } else {
    button.onclick = () => void offer(button, attachment);
  }
  return button;
}

async function showThumbnail(button, attachment, isByItself) {
  const { name } = attachment;
  try {
    const picture = new Image();
    picture.alt = name;
    picture.src = await addressOf(attachment, THUMBNAIL_PIXELS, isByItself);
    await picture.decode();
    button.replaceChildren(picture);
    button.classList.add('picture');
    button.setAttribute('aria-label', `Show ${name}`);
    button.onclick = () => void enlarge(attachment);
  } catch (error) {
    if (isByItself && error.status === 0) return; // A click still loads it.
    if (error.name === 'EncodingError') offerInstead(button, attachment);
    else button.textContent = `${name} (${error.status === 404 ? 'not on disk' : 'could not be loaded'})`;
  }
}

/** No browser here can show it. */
function offerInstead(button, attachment) {
  button.replaceChildren(`⤓ ${attachment.name}`);
  button.onclick = () => void offer(button, attachment);
}

async function enlarge(attachment) {
  const viewer = element('viewer');
  const picture = viewer.querySelector('img');
  picture.alt = attachment.name;
  picture.src = await addressOf(attachment, SHOWN_PIXELS);
  const download = viewer.querySelector('[data-do="download"]');
  download.onclick = () => void offer(download, attachment);
  viewer.showModal();
}

async function play(button, attachment, kind) {
  button.disabled = true;
  try {
    const player = document.createElement(kind);
    player.controls = true;
    player.src = await addressOf(attachment);
    player.title = attachment.name;
    player.onerror = () => {
      offerInstead(button, attachment);
      button.disabled = false;
      player.replaceWith(button);
    };
    button.replaceWith(player);
    await player.play().catch(() => {});
  } catch (error) {
    button.disabled = false;
    button.textContent = `${attachment.name} (${error.message})`;
  }
}

/** Offers the original as a file. */
async function offer(button, { name, at }) {
  button.disabled = true;
  try {
    const { bytes } = await bytesOf(at);
    // The sender chose the answer's type: a page among the blobs would run in this origin, without its policy.
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    button.textContent = `${name} (${error.status === 404 ? 'not on disk' : error.message})`;
  } finally {
    button.disabled = false;
  }
}

/**
 * An object URL of the attachment in a form that a browser can show: converted by the service if necessary and
 * possible.
 */
async function addressOf(attachment, pixels, isByItself) {
  const { at, type } = attachment;
  const wanted = pixels === undefined ? 'm4a' : `jpeg&max=${pixels}`;
  const path = canConvert && needsConversion(attachment) ? `${at}?as=${wanted}` : at;
  const known = kept.get(path);
  if (known !== undefined) return known;
  const answer = await bytesOf(path, { isByItself }).catch((error) => {
    if (error.status !== 501) throw error;
    canConvert = false;
    return bytesOf(at);
  });
  const made = URL.createObjectURL(new Blob([answer.bytes], { type: CONVERTED.has(answer.type) ? answer.type : type }));
  kept.set(path, made);
  for (const [oldest, address] of kept) {
    if (kept.size <= KEPT) break;
    kept.delete(oldest);
    URL.revokeObjectURL(address);
  }
  return made;
}

export function offerViewer() {
  const viewer = element('viewer');
  viewer.querySelector('[data-do="close"]').addEventListener('click', () => viewer.close());
  viewer.addEventListener('click', ({ target }) => {
    if (target === viewer) viewer.close();
  });
}
