import { DAY_MS } from '../../../core/model/durations.ts';
import { type Finding, finding, ok } from '../../../core/model/finding.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import { systemClock } from '../../../core/runtime/clock.ts';

const SOON_DAYS = 30;
export const DESK = 'On the machine where the fleet was set up, run: postern fleet';

/** Tells until when a certificate is valid. `end` is in Unix milliseconds. */
export function certificateFinding(name: string, end: number): Finding {
  const day = isoSecond(end).slice(0, 10);
  const days = Math.floor((end - systemClock.now()) / DAY_MS);
  if (days >= SOON_DAYS) return ok('fleet_certificate', `${name} is valid until ${day}.`);
  const sentence = days < 0 ? `${name} has ended (${day}).` : `${name} ends in ${days} days (${day}).`;
  return finding(days < 0 ? 'problem' : 'warning', 'fleet_certificate', sentence, `${DESK} renew`);
}
