// At a hub: the Mac whose conversations are shown, and the Mac to send from. Nothing of this appears on a single Mac.

import { fill, h } from './dom.js';
import { isHub, macOf, macs } from './service.js';

const chooser = h('select', { id: 'mac', class: 'input', 'aria-label': 'Mac' });
const from = h('select', { id: 'from', class: 'input', 'aria-label': 'From' });

/** Returns the chooser above the conversations; undefined on a single Mac. @param {() => unknown} changed */
export function macChooser(changed) {
  if (!isHub()) return undefined;
  fillWith(chooser, 'All Macs');
  chooser.onchange = () => {
    from.value = chooser.value;
    void changed();
  };
  return chooser;
}

/** Returns the chooser beside the recipient; undefined on a single Mac. */
export function senderChooser() {
  if (!isHub()) return undefined;
  fillWith(from, 'The Mac that has the conversation');
  return from;
}

/** Reports whether a conversation belongs to the chosen Mac. @param {string} id */
export const isOfChosenMac = (id) => chooser.value === '' || macOf(id) === chooser.value;

/** Returns the Mac to send from, for a typed recipient; undefined leaves the choice to the hub. */
export const senderMac = () => (isHub() && from.value !== '' ? from.value : undefined);

/** Returns the Mac's tag, shown beside a name. @param {string} id */
export function macTag(id) {
  const mac = macOf(id);
  return mac === undefined ? undefined : h('small', 'tag', mac);
}

/**
 * @param {HTMLSelectElement} select
 * @param {string} all
 */
function fillWith(select, all) {
  const before = select.value;
  fill(
    select,
    h('option', { value: '' }, all),
    macs().map(({ id, state }) => h('option', { value: id }, state === 'present' ? id : `${id} (${state})`)),
  );
  if (macs().some(({ id }) => id === before)) select.value = before;
}
