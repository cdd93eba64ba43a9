// The two choices of a Mac at a hub: whose conversations to show, and which Mac to send from. With a single Mac, the
// page shows neither choice.

import { fill, h } from '../../parts/old/dom.js';
import { isHub, macOf, macs } from '../../service/service.ts';

const chooser = h('select', { id: 'mac', class: 'input', 'aria-label': 'Mac' });
const from = h('select', { id: 'from', class: 'input', 'aria-label': 'From' });

/**
 * Returns the select field for the Mac whose conversations are listed; undefined on a single Mac.
 * @param {() => unknown} changed
 */
export function macChooser(changed) {
  if (!isHub()) return undefined;
  fillWith(chooser, 'All Macs');
  chooser.onchange = () => {
    from.value = chooser.value;
    void changed();
  };
  return chooser;
}

/** Returns the select field for the Mac that sends a new message; undefined on a single Mac. */
export function senderChooser() {
  if (!isHub()) return undefined;
  fillWith(from, 'The Mac that has the conversation');
  return from;
}

/** Reports whether a conversation belongs to the chosen Mac. @param {string} id */
export const isOfChosenMac = (id) => chooser.value === '' || macOf(id) === chooser.value;

/** Returns the Mac that the user chose to send from. Returns undefined if the hub is to choose one. */
export const senderMac = () => (isHub() && from.value !== '' ? from.value : undefined);

/** Returns a tag with the name of the Mac that owns a conversation; undefined on a single Mac. @param {string} id */
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
