// The content of a message besides text: links, polls, cards of apps, drawings, places and people.

import { meter } from '../../parts/old/charts.js';
import { h } from '../../parts/old/dom.js';
import { counted, listed, personOf, timeOf } from '../../service/words.ts';
import { webAddress, webLink } from './web-link.js';

/** @import { Names } from '../../../../core/model/names.ts' */

/**
 * Returns the cards of a message. A card is shown instead of the message's text or below it.
 * @param {any} message
 * @returns {HTMLElement[]}
 */
export function cardsOf({ details = {}, names }) {
  const { link, poll, app, attachments = [] } = details;
  return [
    link && linkCard(link),
    poll && pollCard(poll, names),
    app && appCard(app),
    ...attachments.map((/** @type {any} */ { contact, location }) =>
      contact ? contactCard(contact) : location ? locationCard(location) : undefined,
    ),
  ].filter((card) => card !== undefined);
}

/** @param {any} link */
function linkCard({
  url,
  original_url: original,
  title,
  summary,
  site_name: site,
  placeholder,
  music,
  app_store: store,
  place,
}) {
  const address = webAddress(url ?? original);
  const name = title ?? music?.track ?? store?.name ?? place?.name ?? address?.host ?? 'A link';
  const more = music
    ? [music.artist, music.album].filter(Boolean).join(' · ')
    : (store?.subtitle ?? place?.address ?? summary);
  const body = [
    h('b', { class: 'cut2', dir: 'auto' }, name),
    more && h('span', { class: 'cut2 small soft', dir: 'auto' }, more),
    h(
      'span',
      'small quiet cut',
      placeholder ? 'Messages is still fetching this preview' : (site ?? address?.host ?? ''),
    ),
  ];
  return address === undefined ? h('div', 'bubble bare card2', body) : webLink(address.href, 'bubble bare card2', body);
}

/**
 * @param {any} poll
 * @param {Names} names
 */
function pollCard({ question, options }, names) {
  const most = Math.max(1, ...options.map((/** @type {any} */ { votes }) => votes.length));
  return h(
    'div',
    'bubble bare poll',
    h('b', { dir: 'auto' }, question ?? 'Poll'),
    h(
      'ul',
      'stack',
      options.map((/** @type {any} */ { text, votes }) => {
        const voters = votes.map((/** @type {string} */ one) => (one === '' ? 'You' : personOf(one, names)));
        const label = `${text ?? 'An option'}: ${counted(votes.length, 'vote')}${voters.length > 0 ? `, ${listed(voters)}` : ''}`;
        return h(
          'li',
          { class: 'stack tight', title: voters.length > 0 ? listed(voters) : undefined },
          h(
            'span',
            'row',
            h('span', { class: 'grow', dir: 'auto' }, text ?? 'An option'),
            h('span', 'num small', votes.length),
          ),
          meter(votes.length / most, label),
        );
      }),
    ),
  );
}

/** @param {any} app */
function appCard({ type, name, title, subtitle, caption, subcaption, summary, url, check_in: checkIn, business }) {
  const address = webAddress(url);
  const lines = [
    ...new Set([
      caption,
      subcaption,
      title,
      subtitle,
      summary,
      business?.title,
      business?.subtitle,
      business?.selected,
    ]),
  ].filter(Boolean);
  const times = [
    checkIn?.expected_at && `Expected ${timeOf(checkIn.expected_at)}`,
    checkIn?.overdue_at && `Overdue since ${timeOf(checkIn.overdue_at)}`,
  ].filter(Boolean);
  const [first = name ?? 'A card', ...others] = lines;
  const body = [
    h('b', { class: 'cut2', dir: 'auto' }, first),
    [...others, ...times].map((line) => h('span', { class: 'cut2 small soft', dir: 'auto' }, line)),
    h('span', 'small quiet cut', name ?? type.replaceAll('_', ' ')),
  ];
  return address === undefined ? h('div', 'bubble bare card2', body) : webLink(address.href, 'bubble bare card2', body);
}

/** @param {any} card */
const contactCard = ({ name, organization, phones, emails }) =>
  h(
    'div',
    'bubble bare card2',
    h('b', { dir: 'auto' }, name ?? organization ?? 'A contact'),
    [...phones, ...emails].map((one) => h('bdi', 'small soft', one)),
    h('span', 'small quiet', 'Contact'),
  );

/** @param {any} pin */
function locationCard({ name, latitude, longitude, url }) {
  const address = webAddress(url);
  const body = [
    h('b', { dir: 'auto' }, name ?? 'A place'),
    latitude !== undefined && longitude !== undefined && h('span', 'small soft num', `${latitude}, ${longitude}`),
    h('span', 'small quiet', 'Location'),
  ];
  return address === undefined ? h('div', 'bubble bare card2', body) : webLink(address.href, 'bubble bare card2', body);
}

/**
 * Returns the earlier texts of an edited message.
 * @param {any} details
 */
export function historyOf({ edits = [] }) {
  const earlier = edits.flatMap((/** @type {any} */ { history }) => history.slice(0, -1));
  if (earlier.length === 0) return undefined;
  return h(
    'ol',
    'history',
    earlier.map((/** @type {any} */ { at, text }) =>
      h('li', { dir: 'auto' }, text ?? 'A text that cannot be read', at && h('time', 'quiet small', ` ${timeOf(at)}`)),
    ),
  );
}
