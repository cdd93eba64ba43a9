/**
 * Formats an API timestamp in this time zone: as a time with seconds if it is today, otherwise as a day and a time
 * without seconds.
 */
export function shownTime(timestamp: string, nowMs: number): string {
  const time = new Date(timestamp);
  const [hours, minutes, seconds] = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits);
  const day = dayOf(time);
  return day === dayOf(new Date(nowMs)) ? `${hours}:${minutes}:${seconds}` : `${day} ${hours}:${minutes}`;
}

/** Formats a duration as seconds, as minutes, as hours and minutes, or (from 48 hours) as days and hours. */
export function shownSpan(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return `${hours} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

function dayOf(time: Date): string {
  return `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
