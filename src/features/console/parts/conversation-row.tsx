// One conversation in a list: its faces, its name, and its last message.

import type { VNode } from 'preact';
import type { Conversation } from '../../../core/model/conversation.ts';
import { number } from '../../../core/model/figures.ts';
import { isGroup, lastWords, nameOf, namesOf, peopleIn } from '../service/directory.ts';
import { personOf, shortTimeOf, timeOf } from '../service/words.ts';
import { Faces } from './avatar.tsx';
import { Names, Quoting } from './quoting.tsx';

interface Props {
  readonly conversation: Conversation;
  readonly href: string;
  /** The Mac that the conversation is on, if the list is of several. */
  readonly mac?: string | undefined;
  readonly unread: number;
  /** True if a message before the last one was not delivered, and nobody has looked since. */
  readonly hasFailed?: boolean;
  readonly isCurrent?: boolean;
  /** The address or the Mac, which tells the conversation from others of the same name. */
  readonly address?: string | undefined;
}

export function ConversationRow(props: Props): VNode {
  const { conversation, href, mac, unread, hasFailed = false, isCurrent = false, address } = props;
  const { id, last_message_at: at, names, details } = conversation;
  const last = details?.last_message;
  const isFailed = last?.status === 'failed';
  const name = nameOf(conversation);
  const [who, words] = lastWords(conversation);
  return (
    <a class="conv" href={href} title={name} data-id={id} data-mac={mac} aria-current={isCurrent ? 'true' : undefined}>
      <span class="unread" hidden={unread === 0} />
      <Faces people={peopleIn(conversation)} />
      <span class="stack tight">
        <span class="head-line">
          <b class="cut" dir="auto">
            <Names names={namesOf(conversation)} />
          </b>
          {isGroup(conversation) && <span class="unseen">, a group</span>}
          <time dateTime={at} title={timeOf(at)}>
            {shortTimeOf(at)}
          </time>
        </span>
        {address !== undefined && (
          <span class="quiet small cut address">
            <bdi>{address}</bdi>
          </span>
        )}
        <span class="last">
          {(isFailed || hasFailed) && (
            <>
              <span class="state bad">{isFailed ? 'Not delivered:' : 'One was not delivered.'}</span>{' '}
            </>
          )}
          {!isFailed && who !== undefined && (
            <>
              <bdi>{who}</bdi>:{' '}
            </>
          )}
          <bdi>{last?.body === '' ? <Quoting text={words} who={personOf(last.sender, names)} /> : words}</bdi>
        </span>
        {unread > 0 && (
          <span class="count now">
            {number(unread)}
            <span class="unseen"> unread</span>
          </span>
        )}
      </span>
    </a>
  );
}
