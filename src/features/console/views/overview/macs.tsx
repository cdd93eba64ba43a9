// The Macs behind the service: where each is, how far behind, and the way to its own console.

import type { ComponentChildren, VNode } from 'preact';
import { number } from '../../../../core/model/figures.ts';
import type { HubMac, HubMachine, StatusReport } from '../../../../core/model/status.ts';
import { Card, CodeLine, type Column, classes, Empty, Icon, type Mark, State, Table, Tag } from '../../parts/parts.tsx';
import { consoleOf } from '../../service/place.ts';
import { agoOf, timeOf } from '../../service/words.ts';

const COLUMNS: readonly Column[] = [
  'Mac',
  'State',
  'Machine',
  'Version',
  'Last heard',
  ['Events to come', 'num'],
  ['Events missed', 'num'],
  'Actions',
];

export function MacCards({ macs }: StatusReport): VNode | null {
  if (macs === undefined) return null;
  if (macs.length === 0) return <NoMacs />;
  return (
    <Card title="Macs" id="macs">
      <Table name="Macs" columns={COLUMNS} id="mac-list">
        {macs.flatMap(rowsOf)}
      </Table>
    </Card>
  );
}

const NoMacs = (): VNode => (
  <section class="card">
    <Empty
      icon="mac"
      title="No Macs yet"
      text="Run this where you set up the fleet. It prints the line for the new Mac."
    >
      <CodeLine text="postern fleet add m1" />
    </Empty>
  </section>
);

function rowsOf(mac: HubMac): readonly VNode[] {
  const { id, machines } = mac;
  const name = (
    <a class="what row" href={addressOf(mac)} data-mac={id}>
      <Icon name="mac" />
      {id}
    </a>
  );
  if (machines.length === 0) {
    return [
      <tr key={id}>
        <td>{name}</td>
        <td>
          <State kind="bad" text="Away since before this hub started" />
        </td>
        <td colSpan={COLUMNS.length - 2} class="aside" />
      </tr>,
    ];
  }
  return machines.map((machine, place) => (
    <Machine
      key={`${id} ${machine.machine}`}
      mac={id}
      machine={machine}
      isOne={machines.length === 1}
      open={
        place === 0 && (
          <a class="btn mini" href={addressOf(mac)} aria-label={`Open ${id}`}>
            Open
          </a>
        )
      }
    >
      <td class={classes('mac', place > 0 && 'aside')}>{place === 0 ? name : <span class="unseen">{id}</span>}</td>
    </Machine>
  ));
}

/**
 * Returns the address of the Mac's console. While its first machine is away, that of the machine that answers for it,
 * because the other's ids mean nothing there.
 */
function addressOf({ id, machines }: HubMac): string {
  const answering = machines.find(({ state }) => state === 'present');
  return consoleOf(id, '', answering === machines[0] ? undefined : answering?.machine);
}

interface MachineProps {
  readonly mac: string;
  readonly machine: HubMachine;
  readonly isOne: boolean;
  /** The way to the console of the Mac. */
  readonly open: ComponentChildren;
  readonly children: VNode;
}

function Machine({ mac, machine, isOne, open, children }: MachineProps): VNode {
  const { machine: id, name, version, heard_at: at, behind, rows_without_event: missed, problem } = machine;
  const [mark, word] = stateOf(machine);
  return (
    <tr data-machine={id} class={isOne ? undefined : 'of-pair'}>
      {children}
      <td class="state-cell">
        <State kind={mark} text={word} />
        {problem !== null && (
          <>
            {' '}
            <Tag kind="warn">Problem</Tag>
            <p class="small soft">{problem}</p>
          </>
        )}
      </td>
      <td class={isOne ? 'aside' : 'machine'}>
        {isOne ? id : <a href={consoleOf(mac, '', id)}>{id}</a>}
        {name !== id && <span class="quiet small block">{name}</span>}
      </td>
      <td class="aside">{version}</td>
      <td class="quiet nowrap aside">{agoOf(at)}</td>
      <Count name="Events to come" of={behind} title="Rows that this machine has not published yet" />
      <Count name="Events missed" of={missed} title="Rows that were too old when they could be published" />
      <td class="end aside">{open}</td>
    </tr>
  );
}

interface CountProps {
  readonly name: string;
  readonly of: number;
  readonly title: string;
}

/** On a phone only if there is something to say. */
const Count = ({ name, of, title }: CountProps): VNode => (
  <td class={classes('num', of === 0 && 'aside')} data-name={`${name}:`} title={title}>
    {of > 0 ? number(of) : <span class="quiet">none</span>}
  </td>
);

function stateOf({ state, heard_at: at, behind }: HubMachine): [Mark, string] {
  if (state === 'away') return ['bad', `Away since ${timeOf(at)}`];
  return behind > 0 ? ['warn', 'Catching up'] : ['good', 'Present'];
}
