// The table of limited keys: their rights and their use.

import type { ComponentChildren, VNode } from 'preact';
import type { KeyUse } from '../../../../client/key-types.ts';
import { type KeyRecord, MAX_KEYS } from '../../../../client/key-types.ts';
import { counted, number } from '../../../../core/model/figures.ts';
import { Meter } from '../../parts/charts.tsx';
import { Exactly } from '../../parts/exactly.tsx';
import { Button, CodeLine, Empty, Icon, Note, PageHead, Table, Tag } from '../../parts/parts.tsx';
import { NameList } from '../../parts/quoting.tsx';
import { useSteady } from '../../parts/steady.ts';
import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { commandOf, forgetKeys } from '../../service/service.ts';
import { agoOf } from '../../service/words.ts';
import { KeyMenu, pathOfKey } from './key-actions.tsx';
import { APPROVAL, expiryOf, kindOf, nameOfEntry, peopleOnList, readsWith } from './key-words.ts';

/** A key with less than this share of its cap left is nearly used up. */
const SCARCE = 0.2;

interface ListProps {
  readonly keys: readonly KeyRecord[];
  /** Reads the view again. */
  readonly again: () => Promise<unknown>;
}

export const KeyList = ({ keys, again }: ListProps): VNode => (
  <>
    <PageHead
      title="Keys"
      text="A limited key may do only what you list. Your own key, in config.toml, may do everything."
    >
      {keys.length > 0 && (
        <a class="btn first" href="#/keys/new">
          <Icon name="plus" />
          Create a key
        </a>
      )}
    </PageHead>
    <ClosedNotes keys={keys} again={again} />
    {keys.length === 0 ? <None /> : <KeyTable keys={keys} />}
  </>
);

const None = (): VNode => (
  <section class="card" id="key-none">
    <Empty
      icon="key"
      title="No limited keys yet"
      text="A limited key reads and writes only where you allow it. This command creates one for Claude, and every send waits for you:"
    >
      <CodeLine text={commandOf('keys add claude --preset assistant --read "Ana Silva" --send "Ana Silva"')} />
      <a class="btn first" href="#/keys/new">
        Create a key
      </a>
    </Empty>
  </section>
);

/** Notes about groups that a key may no longer write to, because somebody joined. */
const ClosedNotes = ({ keys, again }: ListProps): VNode => (
  <>
    {keys.flatMap(({ id, name, closed }) =>
      closed.map(({ conversation_id: group, joined }) => (
        <Note key={`${id} ${group}`} kind="warn">
          <p>
            <strong>
              <NameList names={[name]} /> may not write to <NameList names={[nameOfEntry(group)]} /> any more
            </strong>
            : <NameList names={joined.map(nameOfEntry)} /> joined since you listed it.
          </p>
          <p class="acts">
            <Button
              kind="mini"
              run={async () => {
                // Opens it for the people shown here, and for nobody who has joined since.
                await call(pathOfKey(id), {
                  method: 'PATCH',
                  body: { opens: [{ conversation_id: group, joined }] },
                });
                forgetKeys();
                toast(`${name} may write to the group again`);
                await again();
              }}
            >
              {`Allow the group with the new ${joined.length === 1 ? 'member' : 'members'}`}
            </Button>
          </p>
        </Note>
      )),
    )}
  </>
);

function KeyTable({ keys }: Pick<ListProps, 'keys'>): VNode {
  const hasToday = keys.some(({ today }) => today !== undefined);
  const [rows, place] = useSteady<KeyRecord, HTMLTableElement>(keys, ({ id }) => id);
  const columns = ['Name', 'May', 'People', 'Today', 'Sends left today', 'Used', 'Expires', 'Actions'];
  return (
    <>
      <section class="card">
        <Table name="Keys" id="key-list" columns={columns.filter((one) => hasToday || one !== 'Today')} place={place}>
          <OwnRow hasToday={hasToday} />
          {rows.map(({ item, isGone }) => (
            <Row key={item.id} record={item} hasToday={hasToday} isGone={isGone} />
          ))}
        </Table>
      </section>
      <p class="quiet small">
        {number(keys.length)} of {number(MAX_KEYS)} keys. A key is shown once, when you create it. Postern keeps only
        its hash.
      </p>
    </>
  );
}

interface RowProps {
  readonly hasToday: boolean;
}

/** The owner's key. */
const OwnRow = ({ hasToday }: RowProps): VNode => (
  <tr>
    <NameCell icon="lock" kind="in config.toml">
      <span class="what">Your own key</span>
    </NameCell>
    <td class="wide">
      <span class="block">everything</span>
      <span class="quiet small">Sends at once</span>
    </td>
    <td class="aside">everybody</td>
    {hasToday && <td class="aside quiet nowrap">not counted</td>}
    <td class="quiet aside">no limit</td>
    <td class="quiet aside">now</td>
    <td class="aside quiet">never</td>
    <td class="aside" />
  </tr>
);

interface NameCellProps {
  readonly icon: string;
  readonly kind: string;
  readonly children: ComponentChildren;
}

const NameCell = ({ icon, kind, children }: NameCellProps): VNode => (
  <td>
    <span class="row">
      <Icon name={icon} />
      <span class="stack tight grow">
        {children}
        <span class="quiet small">{kind}</span>
      </span>
    </span>
  </td>
);

interface KeyRowProps extends RowProps {
  readonly record: KeyRecord;
  /** True if the key was revoked while somebody pointed at the table. */
  readonly isGone: boolean;
}

function Row({ record, hasToday, isGone }: KeyRowProps): VNode {
  const { id, name, scopes, approval, dry_run: isDry, last_used_at: used } = record;
  const [icon, kind] = isGone ? ['x', 'revoked'] : kindOf(scopes);
  const expiry = expiryOf(record);
  const people = peopleOf(record);
  return (
    <tr data-id={id} inert={isGone}>
      <NameCell icon={icon} kind={kind}>
        <a class="what cut" href={`#/keys/${id}`} dir="auto">
          <Exactly text={name} />
        </a>
      </NameCell>
      <td class="wide">
        <span class="block nowrap">{scopes.join(', ')}</span>
        {scopes.includes('send') && (
          <span class="quiet small nowrap">{isDry ? 'Every send is a trial' : APPROVAL[approval]}</span>
        )}
      </td>
      <td class="wide">
        <span class="cut2" title={people} dir="auto">
          {people || 'nobody'}
        </span>
      </td>
      {hasToday && (
        <td class="wide" data-name="Today">
          <TodayTags today={record.today} />
        </td>
      )}
      <td class="aside">
        <SendsLeft {...record} />
      </td>
      <td class="quiet nowrap aside">{used === null ? 'never' : agoOf(used)}</td>
      <td class={`nowrap ${expiry.isSoon ? 'soon-text' : 'quiet'}`} data-name="Expires">
        {expiry.text}
      </td>
      <td class="end aside">
        <KeyMenu id={id} name={name} />
      </td>
    </tr>
  );
}

const peopleOf = ({ scopes, read, send }: KeyRecord): string =>
  [readsWith(scopes) && `reads ${peopleOnList(read)}`, scopes.includes('send') && `writes to ${peopleOnList(send)}`]
    .filter(Boolean)
    .join('; ');

function TodayTags({ today }: { readonly today: KeyUse | undefined }): VNode | null {
  if (today === undefined) return null;
  const { read, asked, sent, refused } = today;
  if (read + asked + sent + refused === 0) return <span class="quiet">nothing</span>;
  return (
    <span class="row wrap">
      {read > 0 && <Tag>{number(read)} read</Tag>}
      {asked > sent && <Tag kind="warn">{number(asked)} asked</Tag>}
      {sent > 0 && <Tag kind="accent">{counted(sent, 'send')}</Tag>}
      {refused > 0 && <Tag kind="bad">{number(refused)} refused</Tag>}
    </span>
  );
}

function SendsLeft({ scopes, caps, remaining }: KeyRecord): VNode {
  if (!scopes.includes('send') || caps === null || remaining === null) return <span class="quiet">cannot send</span>;
  const { per_day: left } = remaining;
  const { per_day: most } = caps;
  const share = most === 0 ? 0 : left / most;
  return (
    <span class="stack tight limit">
      <span class="num small">{`${left} of ${most}`}</span>
      <Meter share={share} title={`${left} of ${most} sends left today`} isNearlyFull={most > 0 && share < SCARCE} />
    </span>
  );
}
