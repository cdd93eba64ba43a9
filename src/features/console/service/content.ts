// The text of a message, and the notes and reactions below it.

import type { TextRun } from '../../../core/model/content.ts';
import { type AttachmentDetails, isEventKind, type MessageDetails } from '../../../core/model/details.ts';
import type { Message } from '../../../core/model/message.ts';
import { effectNote, unsentNotes } from '../../../core/model/message-view.ts';
import { REACTION_SIGNS, type Reaction } from '../../../core/model/reaction.ts';
import { timeOf } from './words.ts';

export const symbolOf = ({ emoji, reaction_type: type }: Pick<Reaction, 'emoji' | 'reaction_type'>): string =>
  emoji ?? REACTION_SIGNS[type] ?? '▫️';

/** Reports whether a message or a reaction only reports a change of the conversation. */
export const isNotice = ({ details }: { readonly details?: { readonly kind: string } | undefined }): boolean =>
  details !== undefined && (isEventKind(details.kind) || details.kind === 'other');

/**
 * Returns the text as written, or a sentence if there is no text. Returns "" if a card or a picture shows the content.
 */
export function textOf({ body, attachments, details }: Pick<Message, 'body' | 'attachments' | 'details'>): string {
  if (details === undefined) return body;
  const { kind, sentence, parts = [], link, poll, app } = details;
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

/** A part of a text, with the styles of its words. */
export interface StyledPart {
  readonly text: string;
  readonly runs?: readonly TextRun[] | undefined;
}

/** Returns the parts of a text with the styles of their words; undefined if no word has a style or is a mention. */
export function styledParts({ body, details }: Pick<Message, 'body' | 'details'>): readonly StyledPart[] | undefined {
  const { kind = 'message', parts = [], link, poll, app } = details ?? {};
  if (kind !== 'message' || body === '' || (link ?? poll ?? app) !== undefined) return undefined;
  const written = parts.filter(({ text }) => text.replaceAll('\uFFFC', '').trim() !== '');
  return written.some(({ runs = [] }) => runs.some(hasStyle)) ? written : undefined;
}

const hasStyle = ({ styles, mention }: TextRun): boolean => (styles ?? mention) !== undefined;

/** Matches a text that is empty or only a link. */
const WEB = /^(?:https?:\/\/\S*)?$/;

const linesOf = (parts: readonly StyledPart[]): string =>
  parts
    .map(({ text }) => text.replaceAll('\uFFFC', ''))
    .filter((text) => text.trim() !== '')
    .join('\n');

const isDescribed = ({ sticker, path }: AttachmentDetails): boolean =>
  sticker !== undefined && !/\.(?:png|jpe?g|gif|heics?|webp)$/i.test(path ?? '');

/** Returns the notes below a message: how many parts were unsent, its effect, and when Messages will send it. */
export function notesOf(details: MessageDetails | undefined): readonly string[] {
  const { effect, scheduled, retracted_at: retracted, unsent_parts: parts = [] } = details ?? {};
  return [
    ...unsentNotes(retracted === null ? parts : []),
    ...(effect === undefined ? [] : [effectNote(effect)]),
    ...(scheduled === undefined ? [] : [`Messages sends it ${timeOf(scheduled.for)}`]),
  ];
}

/** Reports whether a reaction is a vote or an added option, which the card of the poll shows. */
export const isOfPoll = ({ details }: Reaction): boolean =>
  details?.kind === 'poll_vote' || details?.kind === 'poll_update';
