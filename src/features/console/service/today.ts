// The local date, which ends while the page is open.

import { signal } from '@preact/signals';

/** The local date. A component that reads it is drawn again when the date changes. */
export const today = signal(new Date().toDateString());

let timer: ReturnType<typeof setTimeout> | undefined;

function note(): void {
  const now = new Date();
  today.value = now.toDateString();
  clearTimeout(timer);
  timer = setTimeout(note, new Date(now).setHours(24, 0, 0, 0) - now.getTime());
}

/** Keeps the date up to date. A computer that was asleep at midnight is noticed when the page is looked at again. */
export function followDate(): void {
  note();
  document.addEventListener('visibilitychange', note);
}
