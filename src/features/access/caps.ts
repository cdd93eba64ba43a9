import type { KeyDetails, Remaining } from '../../client/key-types.ts';
import type { AuditStore, CapCount, SendCount, SendCounts } from './ports.ts';
import { accessProblem } from './problems.ts';

/**
 * Maximum number of sends per day, all limited keys together. It is low because accounts have been blocked for fewer
 * sends within an hour.
 */
const MAX_A_DAY_OF_ALL = 200;

/**
 * Throws `cap_reached` if one of the counts has reached one of the key's caps, or all limited keys together have
 * reached `MAX_A_DAY_OF_ALL`. Counts lines of the audit log, so that a restart forgets nothing.
 */
export function assertWithinCaps(
  audit: Pick<AuditStore, 'sends'>,
  { id, caps }: KeyDetails,
  { target, isNew }: { readonly target: string; readonly isNew: boolean },
  nowMs: number,
  counts: readonly CapCount[],
): void {
  for (const counted of counts) {
    const { minute, day, newContacts, dayOfAll } = audit.sends(id, target, nowMs, counted);
    assertBelow(minute, caps.per_minute, 'in a minute', nowMs);
    assertBelow(day, caps.per_day, 'in a day', nowMs);
    if (isNew) assertBelow(newContacts, caps.new_contacts_per_day, 'to new people in a day', nowMs);
    assertBelow(dayOfAll, MAX_A_DAY_OF_ALL, 'in a day, counted together with all other limited keys', nowMs);
  }
}

/**
 * Returns how many sends each cap still allows. No number exceeds what is left of `per_day`, or of the daily limit for
 * all keys.
 */
export function remaining(audit: Pick<AuditStore, 'sends'>, { id, caps }: KeyDetails, nowMs: number): Remaining {
  const [asked, leaving] = [audit.sends(id, null, nowMs, 'asked'), audit.sends(id, null, nowMs, 'leaving')];
  const left = (cap: number, of: (counts: SendCounts) => SendCount): number =>
    Math.max(0, cap - Math.max(of(asked).count, of(leaving).count));
  const perDay = Math.min(
    left(caps.per_day, ({ day }) => day),
    left(MAX_A_DAY_OF_ALL, ({ dayOfAll }) => dayOfAll),
  );
  const atMost = (cap: number, of: (counts: SendCounts) => SendCount): number => Math.min(left(cap, of), perDay);
  return {
    per_minute: atMost(caps.per_minute, ({ minute }) => minute),
    per_day: perDay,
    new_contacts_per_day: atMost(caps.new_contacts_per_day, ({ newContacts }) => newContacts),
  };
}

function assertBelow({ count, freeAtMs }: SendCount, cap: number, window: string, nowMs: number): void {
  if (count < cap) return;
  const seconds = Math.max(1, Math.ceil((freeAtMs - nowMs) / 1000));
  throw accessProblem('cap_reached', { window, seconds }, { headers: { 'Retry-After': String(seconds) } });
}
