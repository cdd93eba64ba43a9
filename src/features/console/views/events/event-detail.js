// One event as JSON.

import { h, icon } from '../../parts/old/dom.js';
import { button, copy, iconButton } from '../../parts/old/parts.js';
import { curlOf } from '../../service/api.ts';
import { pathOfConversation } from '../../service/route.ts';
import { isHub, may } from '../../service/service.ts';

/** @typedef {Omit<import('../../service/live.ts').Taken, 'event'> & { readonly event: any }} Taken */

/** @param {Taken} taken */
export function timeIn({ atMs, isExact }) {
  const time = new Date(atMs);
  const clock = time.toLocaleTimeString('en-GB');
  const text = isExact ? `${clock}.${String(time.getMilliseconds()).padStart(3, '0')}` : clock;
  return h('time', { datetime: time.toISOString(), title: time.toLocaleString() }, text);
}

/**
 * Returns the parts that show an event: its times, its JSON, and a link to its message. The arrow buttons call `step`.
 * @param {Taken} taken
 * @param {(by: number) => void} step
 * @param {() => void} close
 */
export function eventDetail(taken, step, close) {
  const { event } = taken;
  const { type, data } = event;
  const hasMessage = /^(?:message\.(?:received|sent|updated)|reaction)/.test(type) && data.conversation_id;
  const id = data.message_id || data.id;
  const row = Number(String(data.id).split('~').at(-1));
  return [
    h(
      'div',
      'row',
      h('h2', 'grow', type),
      iconButton('up', 'Newer event', () => step(-1), 'mini bare'),
      iconButton('down', 'Older event', () => step(1), 'mini bare'),
      iconButton('x', 'Close', close, 'mini bare'),
    ),
    h(
      'dl',
      'kv',
      h('dt', null, 'Seen here'),
      h('dd', null, timeIn(taken)),
      data.timestamp && [h('dt', null, 'Written'), h('dd', 'num', new Date(data.timestamp).toLocaleString())],
    ),
    jsonView(event),
    h(
      'div',
      'row wrap',
      hasMessage &&
        may('read') &&
        h('a', { class: 'btn', href: pathOfConversation(data.conversation_id, id) }, icon('chat'), 'Open message'),
      !isHub() &&
        Number.isFinite(row) &&
        !type.startsWith('message.updated') &&
        button('', [icon('copy'), 'Copy as curl'], () => copy(curlOf(`events?after=${row - 1}&limit=1`))),
    ),
  ];
}

/**
 * Shows a value as coloured JSON.
 * @param {unknown} value
 */
function jsonView(value) {
  const text = JSON.stringify(value, undefined, 2);
  const pre = h('pre', 'json');
  let end = 0;
  for (const { 0: found, 1: key, 2: string, 3: figure, index } of text.matchAll(
    /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|true|false|null/g,
  )) {
    const kind = key !== undefined ? 'k' : string !== undefined ? 's' : figure !== undefined ? 'n' : 'z';
    pre.append(text.slice(end, index), h('span', kind, found));
    end = index + found.length;
  }
  pre.append(text.slice(end));
  return h(
    'div',
    'code',
    pre,
    button('mini icon bare', icon('copy'), () => copy(text), { 'aria-label': 'Copy JSON' }),
  );
}
