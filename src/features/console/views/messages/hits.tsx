// The results of a search: people, and messages with the matches marked.

import { signal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import type { Highlight } from '../../../../client/search-types.ts';
import type { Message } from '../../../../core/model/message.ts';
import { Avatar } from '../../parts/avatar.tsx';
import { type Entry, nameIn } from '../../service/directory.ts';
import { goTo, pathOfConversation } from '../../service/route.ts';
import { addressIn, personOf, shortTimeOf, timeOf } from '../../service/words.ts';
import type { FoundMessage } from './search.tsx';

/** Id of the hit whose message the thread shows. */
export const currentHit = signal<string | undefined>(undefined);

/**
 * Maximum length of a hit's text, in UTF-16 code units. If the first match is far from the start, the text begins
 * `SHOWN_BEFORE` code units before the match.
 */
const SHOWN_CHARACTERS = 240;
const SHOWN_BEFORE = 40;

export const PersonHit = ({ id, name, detail, conversation = `any;-;${id}` }: Entry): VNode => (
  <li>
    <button type="button" class="hit row" onClick={() => goTo(pathOfConversation(conversation))}>
      <Avatar name={name} id={id} size="s" />
      <span class="stack tight grow">
        <span class="strong cut" dir="auto">
          {name}
        </span>
        <bdi class="quiet small cut">{detail}</bdi>
      </span>
    </button>
  </li>
);

interface HitProps extends FoundMessage {
  readonly choose: () => void;
  /** Called when somebody moves to the hit with the keyboard. */
  readonly reach: () => void;
}

export function Hit({ message, highlights, choose, reach }: HitProps): VNode {
  const { id, conversation_id: conversation, sender, names, timestamp, is_from_me: isOwn } = message;
  const who = isOwn ? 'You' : personOf(sender, names);
  const where = nameIn(conversation) ?? personOf(addressIn(conversation), names);
  return (
    <li>
      <button
        type="button"
        class="hit"
        disabled={conversation === ''}
        aria-current={currentHit.value === id ? 'true' : undefined}
        onClick={choose}
        onFocus={({ currentTarget }) => {
          if (currentTarget.matches(':focus-visible')) reach();
        }}
      >
        <span class="head-line">
          <b class="cut who" dir="auto">
            {who}
          </b>
          {where !== who && (
            <span class="quiet small cut where">
              in <bdi>{where}</bdi>
            </span>
          )}
          <time class="quiet small" dateTime={timestamp} title={timeOf(timestamp)}>
            {shortTimeOf(timestamp)}
          </time>
        </span>
        <span class="text" dir="auto">
          {marked(message, highlights)}
        </span>
      </button>
    </li>
  );
}

/**
 * Returns the part of the text around the first match, with the matches marked. Returns the file names if there is no
 * text.
 */
function marked({ body, attachments, details }: Message, highlights: readonly Highlight[]): ComponentChildren {
  const files = attachments.map((path) => `[${path.split('/').at(-1)}]`);
  // Without highlights, the match is outside the body, for example in the title of a link.
  if (highlights.length === 0 && details?.sentence !== undefined) return [details.sentence, ...files].join(' ');
  if (body === '') return files.join(' ');
  const first = highlights[0]?.[0] ?? 0;
  let at = first < SHOWN_CHARACTERS / 2 ? 0 : first - SHOWN_BEFORE;
  if (/[\udc00-\udfff]/.test(body.charAt(at))) at -= 1;
  const parts: ComponentChildren[] = at === 0 ? [] : ['…'];
  const end = at + SHOWN_CHARACTERS;
  for (const [from, to] of highlights) {
    if (from >= end) break;
    parts.push(body.slice(at, from), <mark>{body.slice(from, to)}</mark>);
    at = to;
  }
  if (at < body.length) parts.push(at < end ? body.slice(at, end) : '', body.length > end ? '…' : '');
  return parts;
}
