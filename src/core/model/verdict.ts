import { type HubMachine, isBehind, type StatusReport, type WebhookSummary, webhookLabel } from './status.ts';
import { capital } from './text.ts';

/** `text` says whether everything works. `next` gives the reason or the consequence; it may be empty. */
export interface Verdict {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly text: string;
  readonly next: string;
  /** The permission that the owner must give again: to read messages, or to send them. */
  readonly lacks?: 'reading' | 'sending';
}

/** A machine that publishes well may be this many rows behind for a moment. */
const USUALLY_BEHIND = 10;
const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/**
 * Returns the sentences with which the menu, `postern status` and the first page begin. If messages cannot be read,
 * sent or received, the sentences name only the first of these problems.
 */
export function verdictOf(report: StatusReport): Verdict {
  const { backend, permissions, webhooks, macs, warnings = [], held_sends: held = 0 } = report;
  if (macs !== undefined) return hubVerdict(report, macs);
  const denied = permissions.filter(({ state }) => state === 'denied');
  if (!backend.connected) {
    const reason = denied.find(({ name }) => name === 'full_disk_access')?.detail ?? backend.message;
    return {
      tone: 'bad',
      text: 'Postern cannot read your messages',
      lacks: 'reading',
      next: `${reason ?? 'chat.db cannot be opened.'} Nothing is lost: Postern will continue where it stopped.`,
    };
  }
  const automation = denied.find(({ name }) => name === 'automation');
  if (automation !== undefined) {
    return { tone: 'bad', text: 'Messages arrive, but none can be sent', next: automation.detail, lacks: 'sending' };
  }
  const [bad] = warnings.filter(({ tone }) => tone === 'bad');
  if (bad !== undefined) return { tone: 'bad', text: bad.title, next: bad.text };
  const waiting =
    held === 0 ? '' : `${capital(inWords(held))} ${held === 1 ? 'send waits' : 'sends wait'} for your decision.`;
  const behind = webhooks.filter(isBehind);
  const [first] = behind;
  const troubles = [
    ...(first === undefined
      ? []
      : [behind.length === 1 ? `${webhookLabel(first)} is behind` : `${inWords(behind.length)} webhooks are behind`]),
    ...warnings.flatMap(({ clause }) => clause ?? []),
  ];
  if (troubles.length > 0) {
    const next = waiting || whatIsKept(behind);
    return { tone: 'warn', text: `Messages work; ${listed(troubles)}`, next };
  }
  if (backend.message !== null) return { tone: 'warn', text: 'Messages work, with a warning', next: backend.message };
  const next = waiting || 'Messages arrive and go out. Nothing waits for you.';
  return { tone: 'good', text: 'Everything works', next };
}

function hubVerdict(
  { backend, webhooks, warnings = [] }: StatusReport,
  macs: NonNullable<StatusReport['macs']>,
): Verdict {
  if (!backend.connected) {
    return { tone: 'bad', text: 'The hub cannot read the events of its Macs', next: backend.message ?? '' };
  }
  const [bad] = warnings.filter(({ tone }) => tone === 'bad');
  const away = macs.filter(({ state }) => state !== 'present').map(({ id }) => id);
  const behind = webhooks.filter(isBehind).length;
  const [worst, ...others] = machineTroubles(macs);
  const troubles = [
    ...(away.length > 0 ? [`${listed(away)} ${away.length === 1 ? 'is' : 'are'} away`] : []),
    ...(worst === undefined ? [] : [worst.text]),
    ...(behind > 0 ? [`${behind === 1 ? 'one webhook is' : `${inWords(behind)} webhooks are`} behind`] : []),
  ];
  if (bad !== undefined && away.length < Math.max(1, macs.length)) {
    return { tone: 'bad', text: bad.title, next: bad.text };
  }
  if (troubles.length === 0) {
    const present = macs.length === 1 ? '1 Mac is' : `${macs.length.toLocaleString('en-US')} Macs are`;
    return { tone: 'good', text: 'Everything works', next: `${present} present.` };
  }
  const also =
    others.length === 0
      ? ''
      : ` ${capital(inWords(others.length))} more ${others.length === 1 ? 'machine needs' : 'machines need'} a look.`;
  const reason = worst === undefined ? 'Everything else continues.' : `${worst.next}${also}`;
  const back = away.length === 1 ? 'Its events come once it is back.' : 'Their events come once they are back.';
  const later = away.length > 0 ? back : 'Missed events are delivered later.';
  const kept = webhooks.some(isDropping) ? whatIsKept(webhooks) : later;
  const next = worst === undefined || webhooks.some(isDropping) ? `${reason} ${kept}` : reason;
  return {
    tone: away.length === macs.length && macs.length > 0 ? 'bad' : 'warn',
    // The id of a Mac or a machine stays as it is.
    text: away.length > 0 || worst !== undefined ? listed(troubles) : capital(listed(troubles)),
    next,
  };
}

interface MachineTrouble {
  readonly rank: number;
  readonly text: string;
  readonly next: string;
}

/** Returns the worst trouble of each machine of the Macs that are present, the worst of all first. */
function machineTroubles(macs: NonNullable<StatusReport['macs']>): readonly MachineTrouble[] {
  return macs
    .filter(({ state }) => state === 'present')
    .flatMap(({ id, machines }) =>
      machines.flatMap((machine) => troubleOf(machines.length === 1 ? id : machine.machine, id, machine) ?? []),
    )
    .sort((a, b) => a.rank - b.rank);
}

function troubleOf(name: string, mac: string, machine: HubMachine): MachineTrouble | undefined {
  const { state, problem, rows_without_event: missed, behind } = machine;
  if (state === 'away') return { rank: 2, text: `${name} is away`, next: `${mac} works with another machine.` };
  if (problem !== null) return { rank: 0, text: `${name} reports a problem`, next: problem };
  if (missed > 0) {
    const [what, were] = missed === 1 ? ['event', 'It was'] : ['events', 'They were'];
    const text = `${name} has missed ${missed.toLocaleString('en-US')} ${what}`;
    return { rank: 1, text, next: `${were} too old when the machine could publish them.` };
  }
  if (behind <= USUALLY_BEHIND) return undefined;
  const next = `${behind.toLocaleString('en-US')} rows of its chat.db are still to come.`;
  return { rank: 3, text: `${name} is catching up`, next };
}

/** Says what happens to the events of the webhooks that are behind. */
function whatIsKept(webhooks: readonly WebhookSummary[]): string {
  const dropping = webhooks.filter(isDropping);
  const [first] = dropping;
  if (first === undefined) return 'Nothing is lost: Postern keeps everything that is waiting.';
  const who =
    dropping.length === 1 ? `${webhookLabel(first)} drops` : `${capital(inWords(dropping.length))} of them drop`;
  return `${who} an event after three failed attempts.`;
}

/** Reports whether a webhook drops events. Only dropped events count as failures; a held one does not. */
function isDropping({ state, consecutive_failures: failures }: WebhookSummary): boolean {
  return state === 'failing' && failures > 0;
}

function inWords(count: number): string {
  return NUMBERS[count] ?? count.toLocaleString('en-US');
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
