// The pane with facts about the open conversation: its people, the keys that may use it, and the request that reads it.

import { useSignal } from '@preact/signals';
import { Fragment, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { KeyRecord } from '../../../../client/key-types.ts';
import type { Conversation } from '../../../../core/model/conversation.ts';
import { counted } from '../../../../core/model/figures.ts';
import { Avatar, Faces } from '../../parts/avatar.tsx';
import { CodeLine, Icon, IconButton, Tag } from '../../parts/parts.tsx';
import { Names } from '../../parts/quoting.tsx';
import { copy } from '../../parts/toast.ts';
import { curlOf } from '../../service/api.ts';
import { isGroup, nameOf, peopleIn } from '../../service/directory.ts';
import { ALL_PARTS, isOwner, knownKeys } from '../../service/service.ts';
import { addressIn, personOf } from '../../service/words.ts';
import { ConversationFiles } from './conversation-files.tsx';

const PEOPLE_IN_TITLE = 4;

interface Props {
  readonly conversation: Conversation;
}

export function Details({ conversation }: Props): VNode {
  const { id, participants, details } = conversation;
  const hasPeople = isGroup(conversation);
  const who = hasPeople ? `You and ${participants.length} people` : participants[0];
  // Somebody without a name is called by the address, which is the title.
  const about = [who === nameOf(conversation) ? undefined : who, details?.service].filter(Boolean);
  return (
    <>
      <section class="who">
        <Faces people={peopleIn(conversation)} size="xl" />
        <h2 dir="auto">{nameOf(conversation)}</h2>
        <p class="quiet small">
          {about.map((text, index) => (
            <Fragment key={text}>
              {index > 0 && ' · '}
              <bdi>{text}</bdi>
            </Fragment>
          ))}
        </p>
        {!hasPeople && participants[0] !== undefined && (
          <CopyAddress address={participants[0]} name={nameOf(conversation)} />
        )}
      </section>
      {hasPeople && (
        <section>
          <h3>People</h3>
          {participants.map((address) => (
            <Person key={address} address={address} conversation={conversation} />
          ))}
        </section>
      )}
      <ConversationFiles key={id} id={id} />
      {isOwner() && <Rights conversation={conversation} />}
      <section>
        <h3>For programs</h3>
        <div class="row">
          <code class="grow cut ltr">{id}</code>
          <IconButton kind="mini bare" icon="copy" label="Copy the id of the conversation" run={() => copy(id)} />
        </div>
        <CodeLine
          text={curlOf(`messages?conversation_id=${encodeURIComponent(id)}&include=${ALL_PARTS}`)}
          label="Copy curl"
        />
      </section>
    </>
  );
}

/** Says below the title whose messages these are. */
export function PeopleLine(conversation: Conversation): VNode {
  const { id, participants, names, details } = conversation;
  if (!isGroup(conversation)) {
    const address = participants[0] ?? addressIn(id);
    const isNamed = nameOf(conversation) !== address;
    return (
      <>
        {isNamed && <bdi>{address}</bdi>}
        {[isNamed && '', details?.service].filter((part) => typeof part === 'string').join(' · ')}
      </>
    );
  }
  const shown = participants.slice(0, PEOPLE_IN_TITLE).map((address) => personOf(address, names));
  const others = participants.length - shown.length;
  return (
    <>
      <Names names={shown} />
      {others > 0 && ` and ${counted(others, 'other')}`}
    </>
  );
}

function Person({ address, conversation }: Props & { readonly address: string }): VNode {
  const name = personOf(address, conversation.names);
  return (
    <div class="row">
      <Avatar name={name} id={address} size="s" />
      <span class="grow stack tight">
        <span class="cut" dir="auto">
          {name}
        </span>
        {name !== address && <bdi class="quiet small cut">{address}</bdi>}
      </span>
      <CopyAddress address={address} name={name} />
    </div>
  );
}

const CopyAddress = ({ address, name }: { readonly address: string; readonly name: string }): VNode => (
  <IconButton kind="mini bare" icon="copy" label={`Copy the address of ${name}`} run={() => copy(address)} />
);

interface Right {
  readonly key: KeyRecord;
  readonly reads: boolean;
  readonly writes: boolean;
}

/** The limited keys that may use the conversation. */
function Rights({ conversation }: Props): VNode {
  const rights = useSignal<readonly Right[]>([]);
  useLayoutEffect(() => {
    knownKeys().then(
      (keys) => {
        rights.value = rightsIn(keys, conversation);
      },
      () => {},
    );
  }, [conversation]);
  return (
    <section hidden={rights.value.length === 0}>
      <h3>Keys with access</h3>
      {rights.value.map(({ key, reads, writes }) => (
        <div key={key.id} class="row">
          <Icon name="key" />
          <a class="grow cut" href={`#/keys/${key.id}`} dir="auto">
            {key.name}
          </a>
          {reads && <Tag>reads</Tag>}
          {writes && (
            <Tag kind={key.approval === 'always' ? 'warn' : 'accent'}>
              {key.approval === 'never' ? 'writes' : 'sends wait'}
            </Tag>
          )}
        </div>
      ))}
    </section>
  );
}

function rightsIn(keys: readonly KeyRecord[], { id, participants }: Conversation): readonly Right[] {
  const has = (list: KeyRecord['read']): boolean =>
    list === '*' ||
    list.some((one) => addressIn(one) === addressIn(id) || (id.includes(';-;') && participants.includes(one)));
  return keys.flatMap((key) => {
    const reads = key.scopes.some((scope) => scope === 'read' || scope === 'events') && has(key.read);
    const writes = key.scopes.includes('send') && has(key.send);
    return reads || writes ? [{ key, reads, writes }] : [];
  });
}
