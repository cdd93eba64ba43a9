// The card of one send that waits for approval: exactly what would be sent, and to whom.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Approval } from '../../../../client/access-types.ts';
import { bytesOf, counted } from '../../../../core/model/figures.ts';
import type { KeptFile } from '../../../../core/model/kept-file.ts';
import { visibleParts } from '../../../../core/model/visible.ts';
import { Avatar, Faces } from '../../parts/avatar.tsx';
import { Exactly } from '../../parts/exactly.tsx';
import { Countdown, Icon, Note, Tag } from '../../parts/parts.tsx';
import { NameList } from '../../parts/quoting.tsx';
import { conversationOf, peopleIn, recipientOf } from '../../service/directory.ts';
import { pathOfConversation } from '../../service/route.ts';
import { keyName, may } from '../../service/service.ts';
import { personOf, timeOf } from '../../service/words.ts';

export type Decision = 'approve' | 'deny';

const PAUSE_MS = 700;

/** How a send ended. */
export interface Outcome {
  readonly sentence: string;
  /** The kind of a tag. */
  readonly kind: string;
}

interface CardProps {
  readonly approval: Approval;
  /** Names of the keys. */
  readonly names: ReadonlyMap<string, string>;
  /** Undefined while the send waits. */
  readonly outcome: Outcome | undefined;
  /** True if the card was drawn again because the service refused a decision about what it showed before. */
  readonly isChanged: boolean;
  /** The time, in minutes, which draws the time left again. */
  readonly minute: number;
  readonly decide: (approval: Approval, decision: Decision) => Promise<void>;
}

/** Shows what would be sent and to whom, with buttons to approve and to deny it. Stays when the send has ended. */
export function ApprovalCard({ approval, names, outcome, isChanged, decide }: CardProps): VNode {
  const { id, to, members, text, attachments, created_at: from, expires_at: until } = approval;
  const conversation = conversationOf(to) ?? conversationOf(`any;-;${to}`);
  const name = recipientOf(approval);
  const marks = visibleParts(text ?? '').filter(({ isMark }) => isMark).length;
  return (
    <article class="card ask" data-id={id} data-ended={outcome === undefined ? undefined : ''}>
      <div class="to">
        {conversation ? <Faces people={peopleIn(conversation)} /> : <Avatar name={name} id={members[0] ?? to} />}
        <h2 class="grow">
          To <NameList names={[name]} />
        </h2>
        <span class="time-left">{outcome === undefined && <Countdown from={from} until={until} />}</span>
        <p class="quiet small address">
          {members.length > 1 && 'Read by '}
          <NameList names={readersOf(approval)} />
        </p>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs a way to scroll it by keyboard. */}
      <div class="exact" dir="auto" role="region" aria-label={`Exact text to ${name}`} tabIndex={0}>
        <Exactly text={text ?? ''} />
      </div>
      {attachments.length > 0 && (
        <ul class="files">
          {attachments.map((file) => (
            <FileRow key={file.sha256} {...file} />
          ))}
        </ul>
      )}
      <Notes marks={marks} approval={approval} isChanged={isChanged} />
      <Meta approval={approval} asker={keyName(approval.key_id, names)} />
      {/* The buttons keep their room when the send has ended, so that the cards below do not move. */}
      <div class="decide">
        <Actions approval={approval} marks={marks} isOver={outcome !== undefined} decide={decide} />
        <OutcomeLine outcome={outcome} />
      </div>
    </article>
  );
}

/** Names the readers with their addresses, because only an address identifies a person. */
function readersOf({ to, members, names }: Approval): readonly string[] {
  if (members.length < 2) return [to];
  const withAddress = (one: string): string =>
    personOf(one, names) === one ? one : `${personOf(one, names)} (${one})`;
  return members.map(withAddress);
}

const FileRow = ({ name, bytes, sha256 }: KeptFile): VNode => (
  <li class="row" title={`sha256 ${sha256}`}>
    <Icon name="clip" />
    <span class="cut">
      <Exactly text={name} />
    </span>
    <span class="quiet small">{bytesOf(bytes)}</span>
  </li>
);

interface NotesProps extends Pick<CardProps, 'approval' | 'isChanged'> {
  /** Number of characters that cannot be seen. */
  readonly marks: number;
}

const Notes = ({ marks, isChanged, approval: { members, new_contact: isNew } }: NotesProps): VNode => (
  <div class="notes">
    {isChanged && (
      <Note kind="warn">
        <p>Who reads it has changed since you last saw it.</p>
      </Note>
    )}
    {marks > 0 && (
      <Note kind="bad">
        <p>
          <strong>
            {marks === 1 ? 'One character cannot be seen.' : `${counted(marks, 'character')} cannot be seen.`}
          </strong>{' '}
          The recipient may read something different from what you see.
        </p>
      </Note>
    )}
    {isNew === true && (
      <Note kind="warn">
        <p>{`You have never written to this ${members.length > 1 ? 'group' : 'address'}.`}</p>
      </Note>
    )}
  </div>
);

const Meta = ({ approval, asker }: Pick<CardProps, 'approval'> & { readonly asker: string }): VNode => (
  <div class="meta">
    <span class="row">
      <Icon name="key" />
      <span class="asker">
        <Exactly text={asker} />
      </span>
    </span>
    <span>{`asked ${timeOf(approval.created_at)}`}</span>
    {approval.send_at && (
      <span class="row">
        <Icon name="clock" />
        {`to be sent ${timeOf(approval.send_at)}`}
      </span>
    )}
    {approval.service && <span>{`by ${approval.service}`}</span>}
  </div>
);

interface ActionsProps extends Pick<CardProps, 'approval' | 'decide'> {
  /** Number of characters that cannot be seen. If there are any, denying comes first. */
  readonly marks: number;
  readonly isOver: boolean;
}

function Actions({ approval, marks, isOver, decide }: ActionsProps): VNode {
  const isOdd = marks > 0;
  const isBusy = useSignal(false);
  const { to } = approval;
  const chat = conversationOf(to) ?? conversationOf(`any;-;${to}`);
  const button = (decision: Decision, words: string, isFirst: boolean): VNode => (
    <button
      key={decision}
      type="button"
      class={isFirst ? 'btn first' : 'btn'}
      data-do={isOver ? undefined : decision}
      aria-label={`${words}: to ${recipientOf(approval)}`}
      // A disabled button would lose the focus.
      aria-disabled={isBusy.value}
      onClick={() => {
        if (isBusy.value) return;
        isBusy.value = true;
        // A second click of a pair must not decide about a card that was drawn again in between.
        void decide(approval, decision).finally(() => setTimeout(() => (isBusy.value = false), PAUSE_MS));
      }}
    >
      {words}
    </button>
  );
  const approve = button(
    'approve',
    isOdd ? `Send it with the hidden ${marks === 1 ? 'character' : 'characters'}` : 'Send exactly this',
    !isOdd,
  );
  const deny = button('deny', 'Deny', isOdd);
  return (
    <div class="acts" inert={isOver}>
      {isOdd ? [deny, approve] : [approve, deny]}
      {may('read') && (
        <a class="btn bare push" href={pathOfConversation(chat?.id ?? (to.includes(';') ? to : `any;-;${to}`))}>
          See conversation
        </a>
      )}
    </div>
  );
}

/** How the send ended. */
const OutcomeLine = ({ outcome }: Pick<CardProps, 'outcome'>): VNode => (
  <p class="outcome" hidden={outcome === undefined}>
    {outcome && <Tag kind={outcome.kind}>{outcome.sentence}</Tag>}
  </p>
);
