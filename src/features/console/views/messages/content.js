// The text of a message in the thread, and the notes and reactions below the text.

import { timeOf } from '../../service/words.ts';

/** Kinds of messages that only report a change of the conversation. They are shown in the middle, without a sender. */
const NOTICES = new Set([
  'participant_change',
  'group_rename',
  'group_action',
  'location_share',
  'audio_kept',
  'shareplay',
  'other',
]);

/** @type {Readonly<Record<string, string>>} */
const REACTIONS = {
  love: '❤️',
  thumbs_up: '👍',
  thumbs_down: '👎',
  haha: '😂',
  exclamation: '‼️',
  question: '❓',
};

/** @param {any} reaction */
export const symbolOf = ({ emoji, reaction_type: type }) => emoji ?? REACTIONS[type] ?? '▫️';

/** @param {any} data */
export const isNotice = ({ details }) => NOTICES.has(details?.kind);

/**
 * Returns the text as written, or a sentence if there is no text. Returns "" if a card or a picture shows the content.
 * @param {any} message
 * @returns {string}
 */
export function textOf({ body, attachments, details }) {
  const { kind = 'message', sentence, parts = [], link, poll, app } = details ?? {};
  // The card of a poll or an app replaces the text. The card of a link replaces it only if the text contains nothing
  // else.
  if ((poll ?? app) !== undefined) return '';
  if (link !== undefined) return WEB.test(body.trim()) ? '' : body;
  // Attachments separate the parts of the text, so each part gets its own line.
  if (kind === 'message' && body !== '' && parts.length > 1) return linesOf(parts);
  if (sentence === undefined || (kind === 'message' && body !== '')) return body;
  if (kind !== 'message' || attachments.length === 0) return sentence;
  // The page shows the attachments themselves. Only a sticker that a browser cannot show needs the sentence.
  return details.attachments.some(isDescribed) ? sentence : '';
}

/**
 * Returns the parts of a text with the styles of their words. Returns undefined if no word has a style or is a mention.
 * @param {any} message
 * @returns {readonly { readonly text: string, readonly runs?: readonly any[] }[] | undefined}
 */
export function styledParts({ body, details }) {
  const { kind = 'message', parts = [], link, poll, app } = details ?? {};
  if (kind !== 'message' || body === '' || (link ?? poll ?? app) !== undefined) return undefined;
  const written = parts.filter((/** @type {any} */ { text }) => text.replaceAll('\uFFFC', '').trim() !== '');
  return written.some((/** @type {any} */ { runs = [] }) => runs.some(hasStyle)) ? written : undefined;
}

/** @param {any} run */
const hasStyle = ({ styles, mention }) => (styles ?? mention) !== undefined;

/** Matches a text that is empty or only a link. */
const WEB = /^(?:https?:\/\/\S*)?$/;

/** @param {readonly { text: string }[]} parts */
const linesOf = (parts) =>
  parts
    .map(({ text }) => text.replaceAll('\uFFFC', ''))
    .filter((text) => text.trim() !== '')
    .join('\n');

/** @param {any} attachment */
const isDescribed = ({ sticker, path }) => sticker !== undefined && !/\.(?:png|jpe?g|gif|heics?|webp)$/i.test(path);

/**
 * Returns the notes below a message: how many parts were unsent, its effect, and when Messages will send it.
 * @param {any} details
 */
export function notesOf(details) {
  const { effect, scheduled, retracted_at: retracted, unsent_parts: parts = [] } = details ?? {};
  const unsent = retracted === null ? parts : [];
  return [
    ...(unsent.length === 0 ? [] : [unsent.length === 1 ? 'one part unsent' : `${unsent.length} parts unsent`]),
    ...(effect === undefined
      ? []
      : [`sent with ${effect.name === 'other' ? 'an effect' : effect.name.replaceAll('_', ' ')}`]),
    ...(scheduled === undefined ? [] : [`Messages sends it ${timeOf(scheduled.for)}`]),
  ];
}

/**
 * Returns the reactions to show on a message. Votes are reactions too, but the poll itself shows them.
 * @param {{ kind?: string, reactions?: readonly any[] }} [details]
 */
export function marksOf({ kind, reactions = [] } = {}) {
  return reactions.filter(({ reaction_type: type }) => kind !== 'poll' || type !== 'other');
}

/**
 * Reports whether a reaction is a vote or an added option, which the card of the poll shows.
 * @param {any} reaction
 */
export const isOfPoll = ({ details }) => details?.kind === 'poll_vote' || details?.kind === 'poll_update';
