import { shownSpan } from '../../core/cli/output/time.ts';
import type { ShownStatus } from '../../core/feature.ts';
import type { CanaryReport } from './text.ts';

/** Returns the line of `postern status` about Apple's push. */
export function shownCanary(report: CanaryReport): ShownStatus {
  return { label: 'Push', text: pushText(report), tone: report.state === 'push_dead' ? 'red' : undefined };
}

function pushText({
  state,
  arrived_at: arrivedAt,
  delay_ms: delayMs,
  push_dead_since: since,
  problem,
}: CanaryReport): string {
  switch (state) {
    case 'address_unproved':
      return 'not tested: first prove your own address with "postern approvals prove"';
    case 'unproved':
      if (arrivedAt !== null) return 'not proved: the last canary was sent, and its copy has not come';
      return `not proved: no canary has arrived on this Mac yet${problem === null ? '' : ` (${problem})`}`;
    case 'arriving':
      return `works: the last canary arrived${delayMs === null ? '' : ` after ${shownSpan(Math.ceil(delayMs / 1000))}`}`;
    case 'push_dead':
      return `dead since ${since}: messages to yourself did not arrive, nor any other`;
    default:
      return `not known: the last canary ${state === 'not_sent' ? 'could not be sent' : 'may not have been sent'} (${problem})`;
  }
}
