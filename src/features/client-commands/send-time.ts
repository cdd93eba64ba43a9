import { InvalidArgumentError } from 'commander';
import { stretchMs } from '../../core/cli/since.ts';

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const CLOCK = /^(?:(today|tomorrow|\d{4}-\d\d-\d\d)[ T])?(\d{1,2}):(\d\d)$/;
export const AT_FORMS = '2h, 18:30, "tomorrow 08:00", "2026-01-31 08:00" or 2026-01-31T08:00:00Z';

/**
 * Converts one of `AT_FORMS` to an instant. A duration counts from now. A time without a day means the next such time
 * in this time zone. An instant stays unchanged, because the service parses it. Throws InvalidArgumentError for other
 * values.
 */
export function atTime(value: string, nowMs: number): string {
  const aheadMs = stretchMs(value);
  if (aheadMs !== undefined) return instant(nowMs + aheadMs);
  const [, day, hours, minutes] = CLOCK.exec(value) ?? [];
  if (hours === undefined || minutes === undefined) {
    if (INSTANT.test(value) && /(?:Z|[+-]\d\d:?\d\d)$/i.test(value)) return value;
    throw new InvalidArgumentError(`It must be one of: ${AT_FORMS}.`);
  }
  const now = new Date(nowMs);
  const [year, month, date] = DAY.exec(day ?? '')
    ?.slice(1)
    .map(Number) ?? [now.getFullYear(), now.getMonth() + 1, now.getDate() + (day === 'tomorrow' ? 1 : 0)];
  const at = (plusDays: number): Date =>
    new Date(year ?? 0, (month ?? 1) - 1, (date ?? 1) + plusDays, Number(hours), Number(minutes));
  const isReal =
    Number(hours) < 24 && Number(minutes) < 60 && (day?.startsWith('2') !== true || at(0).getDate() === date);
  if (!isReal) throw new InvalidArgumentError(`It must be one of: ${AT_FORMS}.`);
  return instant(at(day === undefined && at(0).getTime() <= nowMs ? 1 : 0).getTime());
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
