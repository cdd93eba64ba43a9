// One sentence that says whether everything works, and what needs attention.

import { counted, listed, number, spanOf } from './words.js';

/** @import { StatusReport, WebhookSummary } from '../../core/model/status.ts' */

/** @typedef {'good' | 'warn' | 'bad'} Tone */
/** @typedef {{ readonly tone: Tone, readonly text: string, readonly next: string, readonly action?: readonly [text: string, href: string] }} Verdict */
/** @typedef {{ readonly tone: Tone, readonly name: string, readonly text: string, readonly more: string }} Fact */

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
/** @param {number} count */
const inWords = (count) => NUMBERS[count] ?? number(count);

/** @param {WebhookSummary} webhook */
const isBehind = ({ state }) => state === 'failing' || state === 'held';

/**
 * Returns the sentence for the worst problem.
 * @param {StatusReport} status
 * @param {number} held sends that wait for a decision
 * @returns {Verdict}
 */
export function verdictOf(status, held) {
  const { backend, permissions, webhooks, search, macs, warnings = [] } = status;
  const disk = permissions.find(({ name, state }) => name === 'full_disk_access' && state === 'denied');
  const automation = permissions.find(({ name, state }) => name === 'automation' && state === 'denied');
  const waiting =
    held === 0
      ? ''
      : held === 1
        ? 'One send waits for your decision.'
        : `${capital(inWords(held))} sends wait for your decision.`;
  if (macs !== undefined) return hubVerdict(status);
  if (!backend.connected) {
    return {
      tone: 'bad',
      text: 'Postern cannot read your messages',
      next: `${disk?.detail ?? backend.message ?? 'chat.db cannot be opened.'} Nothing is lost: Postern will continue where it stopped.`,
      action: ['Show how to restore access', '#/settings'],
    };
  }
  if (automation !== undefined) {
    return {
      tone: 'bad',
      text: 'Messages arrive, but none can be sent',
      next: automation.detail,
      action: ['Show what to allow', '#/settings'],
    };
  }
  const [bad] = warnings.filter(({ tone }) => tone === 'bad');
  if (bad !== undefined) return { tone: 'bad', text: bad.title, next: bad.text };
  const behind = webhooks.filter(isBehind);
  const names = behind.map(({ name, origin }) => name ?? origin.replace(/^https?:\/\//, ''));
  const troubles = [
    ...(behind.length === 0
      ? []
      : [behind.length === 1 ? `${names[0]} is behind` : `${inWords(behind.length)} webhooks are behind`]),
    ...(search?.state === 'failing' ? ['search is not working'] : []),
  ];
  if (troubles.length > 0)
    return {
      tone: 'warn',
      text: `Messages work; ${listed(troubles)}`,
      next: waiting || 'Nothing is lost: Postern keeps everything that is waiting.',
    };
  if (backend.message !== null) return { tone: 'warn', text: 'Messages work, with a warning', next: backend.message };
  if (waiting !== '') return { tone: 'good', text: 'Everything works', next: waiting };
  return { tone: 'good', text: 'Everything works', next: 'Messages arrive and go out. Nothing waits for you.' };
}

/** @param {StatusReport} status @returns {Verdict} */
function hubVerdict({ backend, macs = [], webhooks }) {
  if (!backend.connected)
    return { tone: 'bad', text: 'The hub cannot read the events of its Macs', next: backend.message ?? '' };
  const away = macs.filter(({ state }) => state !== 'present').map(({ id }) => id);
  const behind = webhooks.filter(isBehind).length;
  const troubles = [
    ...(away.length > 0 ? [`${listed(away)} ${away.length === 1 ? 'is' : 'are'} away`] : []),
    ...(behind > 0 ? [`${behind === 1 ? 'one webhook is' : `${inWords(behind)} webhooks are`} behind`] : []),
  ];
  if (troubles.length === 0)
    return {
      tone: 'good',
      text: 'Everything works',
      next: `${counted(macs.length, 'Mac')} ${macs.length === 1 ? 'is' : 'are'} present.`,
    };
  return {
    tone: away.length === macs.length && macs.length > 0 ? 'bad' : 'warn',
    text: capital(listed(troubles)),
    next: 'Everything else continues. Missed events are delivered later.',
  };
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Returns the facts shown under the verdict, such as whether chat.db is readable.
 * @param {StatusReport} status
 * @param {number} waiting events that wait for webhooks
 * @returns {readonly Fact[]}
 */
export function factsOf(
  { backend, newest_event: newest, permissions, messages, webhooks, search, macs, ...features },
  waiting = 0,
) {
  const away = macs?.filter(({ state }) => state !== 'present').length ?? 0;
  const behind = webhooks.filter(isBehind);
  const paused = webhooks.filter(({ state }) => state === 'paused').length;
  const active = webhooks.length - paused;
  return [
    {
      tone: backend.connected ? 'good' : 'bad',
      name: macs === undefined ? 'chat.db' : 'Servers',
      text: backend.connected
        ? macs === undefined
          ? 'Readable'
          : 'Connected'
        : macs === undefined
          ? 'Not readable'
          : 'Not connected',
      more: newest.age_s === null ? 'no events since Postern started' : `newest event ${spanOf(newest.age_s)} ago`,
    },
    ...(macs === undefined
      ? []
      : [
          /** @type {Fact} */ ({
            tone: away === 0 ? 'good' : 'warn',
            name: 'Macs',
            text: `${macs.length - away} of ${macs.length} present`,
            more: '',
          }),
        ]),
    ...permissions.map(({ name, state, detail }) => ({
      tone: /** @type {Tone} */ (state === 'granted' ? 'good' : state === 'denied' ? 'bad' : 'warn'),
      name: name === 'full_disk_access' ? 'Full Disk Access' : 'Automation',
      text: { granted: 'Granted', denied: 'Not granted', unknown: 'Not known' }[state],
      more:
        state !== 'granted' ? detail : name === 'automation' && messages ? `answers in ${messages.answer_ms} ms` : '',
    })),
    ...('canary' in features ? [canaryFact(/** @type {any} */ (features).canary)] : []),
    {
      tone: behind.length > 0 ? 'warn' : 'good',
      name: 'Webhooks',
      text:
        webhooks.length === 0
          ? 'None'
          : behind.length > 0
            ? `${behind.length} of ${active} behind`
            : `${active} of ${active} keep up`,
      more: listed([
        ...(behind.length > 0 && waiting > 0 ? [`${counted(waiting, 'event')} kept`] : []),
        ...(paused > 0 ? [`${paused} paused`] : []),
      ]),
    },
    ...(search === undefined
      ? []
      : [
          /** @type {Fact} */ ({
            tone: search.state === 'complete' ? 'good' : search.state === 'failing' ? 'bad' : 'warn',
            name: 'Search',
            text: { complete: 'Complete', building: 'Being built', failing: 'Does not work' }[search.state],
            more:
              search.state === 'building'
                ? `${number(search.indexed_rows)} of ${number(search.total_rows)} rows`
                : `${number(search.indexed_rows)} messages`,
          }),
        ]),
  ];
}

/** @type {Readonly<Record<string, readonly [tone: Tone, text: string]>>} */
const CANARY = {
  address_unproved: ['warn', 'Address not proved'],
  unproved: ['warn', 'None has arrived yet'],
  arriving: ['good', 'Arrives'],
  push_dead: ['bad', 'Does not arrive'],
  not_sent: ['warn', 'Could not be sent'],
  unknown: ['warn', 'Not known'],
};

/** @param {any} canary @returns {Fact} */
function canaryFact({ state, delay_ms: delayMs, problem }) {
  const [tone, text] = /** @type {readonly [tone: Tone, text: string]} */ (CANARY[state]);
  const delay = delayMs === null ? '' : `the last one took ${spanOf(Math.ceil(delayMs / 1000))}`;
  return { tone, name: 'Push canary', text, more: problem ?? delay };
}
