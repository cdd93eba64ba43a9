// At a hub: its Macs, the chosen one, and the one to send from. A single Mac has none of this.

import { call } from './api.js';
import { copyOf, element, spanOf } from './elements.js';

const chooser = element('mac');
const from = element('from');
const list = element('mac-list');
let macs;

/** Reads from the status whether this is a hub, and its Macs. */
export function noteFleet(status) {
  macs = status.macs;
  document.body.classList.toggle('hub', isHub());
  if (!isHub()) return;
  fill(chooser, 'All Macs');
  fill(from, 'The Mac that knows them');
}

export const isHub = () => macs !== undefined;

/** The includes for each message: a hub knows no names of people. */
export const partsToInclude = () => (isHub() ? 'details' : 'details,contacts');

/** Reports whether a conversation belongs to the chosen Mac. */
export const isOfChosenMac = (id) => chooser.value === '' || macOf(id) === chooser.value;

/** The Mac in a hub's id; undefined if there is none. */
export const macOf = (id) => (isHub() && id.includes('~') ? id.slice(0, id.indexOf('~')) : undefined);

/** The Mac's tag beside a name. */
export function macTag(mac) {
  const tag = document.createElement('small');
  tag.className = 'mac';
  tag.textContent = mac;
  return tag;
}

/** For a send to a typed recipient; undefined leaves the choice to the hub. */
export const senderMac = () => (isHub() && from.value !== '' ? from.value : undefined);

/** Calls `show` whenever another Mac is chosen. */
export function offerMacs(show) {
  chooser.addEventListener('change', () => {
    from.value = chooser.value;
    void show();
  });
}

/** The view of all Macs and their current state. */
export async function showMacs() {
  noteFleet(await call('status'));
  list.replaceChildren(...(macs ?? []).map(rowOf));
  element('mac-none').hidden = list.children.length > 0;
}

function rowOf({ id, state, version, addresses, seen_s: seenS, backend, behind }) {
  const row = copyOf('mac-item');
  row.querySelector('th').textContent = id;
  const texts = [
    backend?.connected === false ? `${state}, but cannot read Messages: ${backend.message ?? ''}` : state,
    `${spanOf(seenS)} ago`,
    behind === null ? '' : String(behind),
    addresses.join(', '),
    version ?? '',
  ];
  for (const [place, text] of texts.entries()) row.querySelectorAll('td')[place].textContent = text;
  row.querySelector('td').dataset.tone = state === 'present' && backend?.connected !== false ? 'good' : 'bad';
  return row;
}

function fill(select, all) {
  const before = select.value;
  const options = macs.map(({ id, state }) => new Option(state === 'present' ? id : `${id} (${state})`, id));
  select.replaceChildren(new Option(all, ''), ...options);
  if (macs.some(({ id }) => id === before)) select.value = before;
}
