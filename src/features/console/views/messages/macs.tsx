// The two choices of a Mac at a hub: whose conversations to show, and which Mac to send from. With a single Mac, the
// page shows neither choice.

import { type Signal, signal } from '@preact/signals';
import type { VNode } from 'preact';
import { isHub, macOf, macs } from '../../service/service.ts';

const shownMac = signal('');
const sendingMac = signal('');

interface SelectProps {
  readonly id: string;
  readonly label: string;
  readonly all: string;
  readonly chosen: Signal<string>;
  readonly changed: (mac: string) => void;
}

const MacSelect = ({ id, label, all, chosen, changed }: SelectProps): VNode => (
  <select
    id={id}
    class="input"
    aria-label={label}
    value={chosen.value}
    onChange={({ currentTarget: { value } }) => {
      chosen.value = value;
      changed(value);
    }}
  >
    <option value="">{all}</option>
    {macs().map((mac) => (
      <option key={mac.id} value={mac.id}>
        {mac.state === 'present' ? mac.id : `${mac.id} (${mac.state})`}
      </option>
    ))}
  </select>
);

/** The choice of the Mac whose conversations are listed. */
export const MacChooser = ({ changed }: { readonly changed: () => void }): VNode | null =>
  isHub() ? (
    <MacSelect
      id="mac"
      label="Mac"
      all="All Macs"
      chosen={shownMac}
      changed={(mac) => {
        sendingMac.value = mac;
        changed();
      }}
    />
  ) : null;

/** The choice of the Mac that sends a new message. */
export const SenderChooser = (): VNode | null =>
  isHub() ? (
    <MacSelect
      id="from"
      label="From"
      all="The Mac that has the conversation"
      chosen={sendingMac}
      changed={() => undefined}
    />
  ) : null;

/** Reports whether a conversation belongs to the chosen Mac. */
export const isOfChosenMac = (id: string): boolean => shownMac.peek() === '' || macOf(id) === shownMac.peek();

/** Returns the Mac that the user chose to send from; undefined if the hub is to choose one. */
export const senderMac = (): string | undefined =>
  isHub() && sendingMac.peek() !== '' ? sendingMac.peek() : undefined;

/** A tag with the name of the Mac that owns a conversation; nothing on a single Mac. */
export function MacTag({ id }: { readonly id: string }): VNode | null {
  const mac = macOf(id);
  return mac === undefined ? null : <small class="tag">{mac}</small>;
}
