// One message of a thread.

import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { TextRun, Translation } from '../../../../core/model/content.ts';
import type { MessageDetails, RepliedMessage } from '../../../../core/model/details.ts';
import { counted } from '../../../../core/model/figures.ts';
import type { Message } from '../../../../core/model/message.ts';
import { earlierTexts } from '../../../../core/model/message-view.ts';
import type { Reaction } from '../../../../core/model/reaction.ts';
import { capital } from '../../../../core/model/text.ts';
import { Avatar } from '../../parts/avatar.tsx';
import { Exactly } from '../../parts/exactly.tsx';
import { classes, Icon } from '../../parts/parts.tsx';
import { Quoting } from '../../parts/quoting.tsx';
import { busily, toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { isNotice, notesOf, type StyledPart, styledParts, symbolOf, textOf } from '../../service/content.ts';
import { repeatable } from '../../service/repeatable.ts';
import { pathOfConversation } from '../../service/route.ts';
import { keyName, namesOfKeys } from '../../service/service.ts';
import { hourOf, personOf, timeOf } from '../../service/words.ts';
import type { Attachment } from './attachment-files.ts';
import { AttachmentItem } from './attachments.tsx';
import { cardsOf, History } from './cards.tsx';
import { outcomeOf, type Sent } from './drafts.ts';
import { linked } from './web-link.tsx';

/** A change that is noted below the message. */
export type Noted = 'edited' | 'unsent';

/** A message as the thread shows it. */
export interface Shown {
  readonly message: Message;
  /** The change that an event reported. */
  readonly noted: Noted | undefined;
  readonly quoted: RepliedMessage | null | undefined;
  readonly reactions: readonly Reaction[];
  readonly attachments: readonly Attachment[];
}

/** The error of Messages for a recipient who has no iMessage. */
const NOT_ON_IMESSAGE = 22;
/** Matches one to three emoji and nothing else. */
const BIG =
  /^(?:\p{Extended_Pictographic}(?:\ufe0f|\u200d\p{Extended_Pictographic}|\p{Emoji_Modifier})*\s*|\p{Regional_Indicator}{2}\s*){1,3}$/u;

/** Reports whether a message was unsent and has no content left. */
const isUnsent = ({ body, attachments, details }: Message): boolean =>
  Boolean(details?.retracted_at) && body === '' && attachments.length === 0;

/** Reports whether a message is shown in the middle, because it only says that something happened. */
export const isEvent = (message: Message): boolean => isNotice(message) || isUnsent(message);

const nameOfSender = ({
  is_from_me: isOwn,
  sender,
  names,
}: Pick<Message, 'is_from_me' | 'sender' | 'names'>): string => (isOwn ? 'You' : personOf(sender, names));

/**
 * The content of a message's item in the list. Its parts are made by functions that are called, because each component
 * costs time, and opening a conversation makes fifty messages.
 */
export function MessageParts({ message, noted, quoted, reactions, attachments }: Shown): VNode {
  const { is_from_me: isOwn, sender, timestamp } = message;
  const name = nameOfSender(message);
  // A tapback hangs on the text, or on what is shown in its place.
  const hasText = textOf(message) !== '' || message.details?.subject !== undefined || isUnsent(message);
  const marks = reactions.length > 0 && (
    <p class="reactions" aria-label={counted(reactions.length, 'reaction')}>
      {reactions.map((reaction) => (
        <ReactionMark key={reaction.id} {...reaction} />
      ))}
    </p>
  );
  const { link, poll, app } = message.details ?? {};
  const hasMore = attachments.length > 0 || (link ?? poll ?? app) !== undefined;
  const pictures = attachments.filter(({ type }) => type?.startsWith('image/')).length;
  return (
    <>
      {!isOwn && !isEvent(message) && <Avatar name={name} id={sender} size="s" />}
      <p class="by">
        <b title={sender} dir="auto">
          {name}
        </b>
        <time dateTime={timestamp} title={timeOf(timestamp)}>
          {hourOf(timestamp)}
        </time>
      </p>
      {quoteOf(quoted, message)}
      <div class="content" title={timeOf(timestamp)}>
        {hasText && (
          <div class={classes('held', attachments.length > 0 && 'above')}>
            {bodyOf(message)}
            {marks}
          </div>
        )}
        {(hasMore || !hasText) && (
          <div class="held">
            {cardsOf(message)}
            <div class={classes('attachments', pictures > 1 && 'many')}>
              {attachments.map((one) => (
                <AttachmentItem key={`${one.at} ${one.bytes} ${one.isHere} ${one.transcript}`} attachment={one} />
              ))}
            </div>
            {!hasText && marks}
          </div>
        )}
      </div>
      {underOf(message, noted ?? notedIn(message.details))}
    </>
  );
}

function notedIn(details: MessageDetails | undefined): Noted | undefined {
  if (details === undefined) return undefined;
  return details.retracted_at !== null ? 'unsent' : details.edited_at !== null ? 'edited' : undefined;
}

function bodyOf(message: Message): VNode {
  const { details } = message;
  const isNoticed = isEvent(message);
  const isGone = isUnsent(message);
  const text = isGone ? `${nameOfSender(message)} unsent a message` : textOf(message);
  const subject = details?.subject;
  const parts = styledParts(message);
  return (
    <p class={classes('body', !isNoticed && 'bubble', BIG.test(text) && 'big')} dir={isNoticed ? undefined : 'auto'}>
      {subject && <strong>{subject}</strong>}
      {/* Postern cannot read the strokes that Messages shows, so a pen stands for them. */}
      {/^(?:handwriting|digital_touch)$/.test(details?.kind ?? '') && <Icon name="pen" />}
      {isNoticed ? (
        <Quoting text={text} who={nameOfSender(message)} />
      ) : parts === undefined ? (
        linked(text)
      ) : (
        parts.map((part, index) => [index > 0 && '\n', styled(part)])
      )}
      {details?.translations?.map((one) => (
        <Translated key={one.part} {...one} />
      ))}
    </p>
  );
}

const STYLES = { bold: 'b', italic: 'i', underline: 'u', strikethrough: 's' } as const;

/** Returns a text whose words have their styles and mentions. */
function styled({ text, runs = [] }: StyledPart): ComponentChildren {
  const read = (from: number, to?: number): ComponentChildren => linked(text.slice(from, to).replaceAll('\uFFFC', ''));
  const shown: ComponentChildren[] = [];
  let at = 0;
  for (const { start, end, styles = [], mention } of runs) {
    if (start < at || (styles.length === 0 && mention === undefined)) continue;
    shown.push(read(at, start), wrapped(read(start, end), styles, mention));
    at = end;
  }
  return [...shown, read(at)];
}

function wrapped(
  text: ComponentChildren,
  styles: NonNullable<TextRun['styles']>,
  mention: string | undefined,
): ComponentChildren {
  let words = text;
  for (const style of styles) {
    const Tag = Object.hasOwn(STYLES, style) ? STYLES[style] : undefined;
    if (Tag !== undefined) words = <Tag>{words}</Tag>;
  }
  return mention === undefined ? words : <b title={mention}>{words}</b>;
}

const Translated = ({ text, language }: Translation): VNode => (
  <span class="translated">
    <small>Translated</small>
    <bdi lang={language?.replaceAll('_', '-')}>{text}</bdi>
  </span>
);

function quoteOf(quoted: Shown['quoted'], { conversation_id: conversation, names }: Message): VNode | null {
  if (!quoted) return null;
  return (
    <blockquote class="quoted">
      <a href={pathOfConversation(conversation, quoted.id)}>
        <b dir="auto">{quoted.sender === '' ? 'You' : personOf(quoted.sender, names)}</b>
        <span dir="auto">{quoted.body === '' ? 'Attachment' : quoted.body}</span>
      </a>
    </blockquote>
  );
}

/** Returns edits, notes, the receipt of an outgoing message, and a button to send a failed one again. */
function underOf(message: Message, noted: Noted | undefined): VNode {
  const { is_from_me: isOwn, status, details, body, attachments } = message;
  const notes = notesOf(details);
  const isSaid = noted === 'unsent' ? details?.sentence !== undefined : notes.some((one) => one.endsWith('unsent'));
  const isFailed = isOwn && status === 'failed';
  const keyId = details?.origin?.by === 'gateway' ? details.origin.key_id : undefined;
  return (
    <div class="under">
      {noted !== undefined && !isSaid && <NotedMark noted={noted} details={details} />}
      {notes.map((text) => (
        <span key={text} class="note-text">
          {capital(text)}
        </span>
      ))}
      {isFailed && (
        <>
          <Icon name="alert" />
          <span class="state bad">Not delivered</span>
          {details?.error ? <span>{errorOf(details.error)}</span> : null}
        </>
      )}
      {/* Files cannot be sent again from here, because the user would have to choose them again. */}
      {isFailed && body !== '' && attachments.length === 0 && <Retry {...message} />}
      {isOwn && !isFailed && <span class="state receipt">{receiptOf(status, details)}</span>}
      {keyId && <ByKey id={keyId} />}
      {details?.late === true && <span>Arrived late</span>}
    </div>
  );
}

/** Returns what is known of an error code of Messages. */
const errorOf = (code: number): string =>
  code === NOT_ON_IMESSAGE ? `Not on iMessage (${code})` : `Messages error ${code}`;

interface MarkProps {
  readonly noted: Noted;
  readonly details: MessageDetails | undefined;
}

/** Says that a message was edited or unsent. Unfolds to the earlier texts if they are known. */
function NotedMark({ noted, details }: MarkProps): VNode {
  const edited = `Edited${details?.edited_at ? ` ${hourOf(details.edited_at)}` : ''}`;
  const label = noted === 'edited' ? edited : 'Unsent';
  const texts = earlierTexts(details?.edits);
  if (texts.length === 0) return <span class="mark">{label}</span>;
  return (
    <details class="mark">
      <summary>{label}</summary>
      <History texts={texts} />
    </details>
  );
}

function Retry({ conversation_id: recipient, body }: Message): VNode {
  const isDone = useSignal(false);
  const retried = useRef(repeatable());
  const again = async (): Promise<void> => {
    const sent = await retried.current([], (idempotencyKey) =>
      call<Sent>('messages', { method: 'POST', idempotencyKey, body: { recipient, body } }),
    );
    isDone.value = true;
    const { text, isBad } = outcomeOf(sent);
    toast(text || 'Sent again', isBad);
  };
  return (
    <button
      type="button"
      class="link"
      data-do="retry"
      hidden={isDone.value}
      onClick={({ currentTarget }) => void busily(currentTarget, again)}
    >
      Try again
    </button>
  );
}

/** The name of the limited key that sent a message. */
function ByKey({ id }: { readonly id: string }): VNode {
  const name = useSignal('');
  useLayoutEffect(() => {
    namesOfKeys([id]).then(
      (names) => {
        name.value = `by ${keyName(id, names)}`;
      },
      () => {},
    );
  }, [id]);
  return (
    <span>
      <Exactly text={name.value} />
    </span>
  );
}

const RECEIPTS: Readonly<Partial<Record<Message['status'], string>>> = {
  pending: 'Sending',
  sent: 'Sent',
  delivered: 'Delivered',
  read: 'Read',
};

function receiptOf(status: Message['status'], details: MessageDetails | undefined): string {
  if (details?.scheduled !== undefined) return '';
  if (details?.read_at) return `Read ${hourOf(details.read_at)}`;
  if (details?.delivered_at) return `Delivered ${hourOf(details.delivered_at)}`;
  return RECEIPTS[status] ?? status;
}

/**
 * Returns what a newer reaction replaces: the sender's tapback on the same part, or nothing for a sticker. A reaction
 * without a part is on the first.
 */
export function replacedBy({
  id,
  associated_message_type: code,
  is_from_me: isOwn,
  sender,
  part = 0,
}: Reaction): string {
  return code >= 2000 && code < 4000 ? `${isOwn ? '' : sender} ${part}` : id;
}

/** Returns what a removal must name. */
export const kindOfReaction = ({ reaction_type: type, emoji }: Reaction): string => `${type} ${emoji ?? ''}`;

function ReactionMark(reaction: Reaction): VNode {
  const { reaction_type: type, part = 0 } = reaction;
  const title = `${nameOfSender(reaction)}: ${type.replace('_', ' ')}${part === 0 ? '' : ` on part ${part + 1}`}`;
  return (
    <span
      title={title}
      data-of={replacedBy(reaction)}
      data-kind={kindOfReaction(reaction)}
      role="img"
      aria-label={title}
    >
      {symbolOf(reaction)}
    </span>
  );
}
