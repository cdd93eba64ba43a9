// The pane with facts about the open conversation: its people, the keys that may use it, and the request that reads it.

import { fill, h, icon } from '../../parts/old/dom.js';
import { avatar, codeLine, copy, face, iconButton, tag } from '../../parts/old/parts.js';
import { curlOf } from '../../service/api.ts';
import { hueIn, isGroup, nameOf, peopleIn } from '../../service/directory.ts';
import { isHub, isOwner, knownKeys, macOf, partsToInclude } from '../../service/service.ts';
import { personOf } from '../../service/words.ts';
import { filesOf } from './conversation-files.js';

/** @import { Conversation } from '../../../../core/model/conversation.ts' */

export const pane = h('aside', { class: 'info', 'aria-label': 'Details' });

/** @param {Conversation} conversation */
export function showDetails(conversation) {
  const { id, participants, details } = conversation;
  const isMany = isGroup(conversation);
  const service = details?.service ?? undefined;
  const about = [isMany ? `You and ${participants.length} people` : participants[0], service, macOf(id)];
  const rights = h('section', { hidden: true });
  fill(
    pane,
    h(
      'section',
      'who',
      face(peopleIn(conversation), 'xl'),
      h('h2', { dir: 'auto' }, nameOf(conversation)),
      h(
        'p',
        'quiet small',
        about.filter(Boolean).map((text, index) => [index > 0 && ' · ', h('bdi', null, text)]),
      ),
    ),
    h(
      'section',
      null,
      h('h3', null, 'People'),
      participants.map((address) => personRow(address, conversation)),
    ),
    filesOf(id),
    rights,
    h(
      'section',
      null,
      h('h3', null, 'For programs'),
      h(
        'div',
        'row',
        h('code', 'grow cut ltr', id),
        iconButton('copy', 'Copy the id of the conversation', () => copy(id), 'mini bare'),
      ),
      codeLine(curlOf(`messages?conversation_id=${encodeURIComponent(id)}&include=${partsToInclude()}`), 'Copy curl'),
    ),
  );
  if (isOwner() && !isHub()) void showRights(conversation, rights);
}

/**
 * @param {string} address
 * @param {Conversation} conversation
 */
function personRow(address, conversation) {
  const name = personOf(address, conversation.names);
  return h(
    'div',
    'row',
    avatar(name, address, 's', hueIn(conversation, address)),
    h(
      'span',
      'grow stack tight',
      h('span', { class: 'cut', dir: 'auto' }, name),
      name !== address && h('bdi', 'quiet small cut', address),
    ),
    iconButton('copy', `Copy the address of ${name}`, () => copy(address), 'mini bare'),
  );
}

/**
 * @param {Conversation} conversation
 * @param {HTMLElement} index
 */
async function showRights({ id, participants }, index) {
  const identifier = id.split(/;[+-];/).at(-1);
  /** @param {'*' | readonly string[]} list */
  const has = (list) =>
    list === '*' ||
    list.some((one) => one.split(/;[+-];/).at(-1) === identifier || (id.includes(';-;') && participants.includes(one)));
  const rows = (await knownKeys().catch(() => [])).flatMap((key) => {
    const reads = key.scopes.some((scope) => scope === 'read' || scope === 'events') && has(key.read);
    const writes = key.scopes.includes('send') && has(key.send);
    return reads || writes ? [{ key, reads, writes }] : [];
  });
  index.hidden = rows.length === 0;
  fill(
    index,
    h('h3', null, 'Keys with access'),
    rows.map(({ key, reads, writes }) =>
      h(
        'div',
        'row',
        icon('key'),
        h('a', { class: 'grow cut', href: `#/keys/${key.id}`, dir: 'auto' }, key.name),
        reads && tag('', 'reads'),
        writes &&
          tag(key.approval === 'always' ? 'warn' : 'accent', key.approval === 'never' ? 'writes' : 'sends wait'),
      ),
    ),
  );
}
