// The content of a row besides text: sentences and notes.

import { timeOf } from './elements.js';

/** Changes to a conversation, shown in the middle without a sender. */
const NOTICES = new Set([
  'participant_change',
  'group_rename',
  'group_action',
  'location_share',
  'audio_kept',
  'shareplay',
  'other',
]);

export const isNotice = ({ details }) => NOTICES.has(details?.kind);

/** The text as written; rows without one are described by a sentence. */
export function textOf({ body, attachments, details }) {
  const { kind = 'message', sentence, parts = [] } = details ?? {};
  // Something other than text stood between two parts.
  if (kind === 'message' && body !== '' && parts.length > 1) return linesOf(parts);
  if (sentence === undefined || (kind === 'message' && body !== '')) return body;
  if (kind !== 'message' || attachments.length === 0) return sentence;
  // A picture speaks for itself. A file name says nothing about the content.
  return details.attachments.some(isTold) || details.transcript !== undefined ? sentence : '';
}

const linesOf = (parts) =>
  parts
    .map(({ text }) => text.replaceAll('\uFFFC', ''))
    .filter((text) => text.trim() !== '')
    .join('\n');

const isTold = ({ sticker, contact, location, transcript }) =>
  (sticker ?? contact ?? location ?? transcript) !== undefined;

/** Notes below a text about how it was sent, and the state of its parts. */
export function notesOf(details) {
  const { effect, scheduled, retracted_at: retracted, unsent_parts: parts = [] } = details ?? {};
  const unsent = retracted === null ? parts : [];
  return [
    ...(unsent.length === 0 ? [] : [unsent.length === 1 ? 'one part unsent' : `${unsent.length} parts unsent`]),
    ...(effect === undefined
      ? []
      : [`sent with ${effect.name === 'other' ? 'an effect' : effect.name.replaceAll('_', ' ')}`]),
    ...(scheduled === undefined ? [] : [`to be sent ${timeOf(scheduled.for)}`]),
  ];
}

/** The reactions to show on a message. Votes are reactions too, but a poll counts them itself. */
export function marksOf({ kind, reactions = [] } = {}) {
  return reactions.filter(({ reaction_type: type }) => kind !== 'poll' || type !== 'other');
}

/** Reports whether a reaction is a vote, or an added option: its poll is reported as changed. */
export const isOfPoll = ({ details }) => details?.kind === 'poll_vote' || details?.kind === 'poll_update';
