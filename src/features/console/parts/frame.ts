// Facts that views tell the frame around them: their title, and how many of their items need attention.

import { effect, signal } from '@preact/signals';
import type { Limited } from '../service/budget.ts';
import { placeName } from '../service/place.ts';

/** The number of items of a view that need attention, and the words that follow the number for screen readers. */
export interface Badge {
  readonly count: number;
  readonly words: string;
  /** True if there may be more. */
  readonly isPart: boolean;
}

/** Key: the view. */
export const badges = signal<ReadonlyMap<string, Badge>>(new Map());
type Connection = 'unknown' | 'good' | 'warning' | 'bad';

/** Whether the service answers and can read Messages. Unless it is good, the text stands in a banner above the view. */
export const connection = signal<{ readonly state: Connection; readonly text: string }>({ state: 'unknown', text: '' });
/** Set while the request limit is reached. */
export const limited = signal<Limited | undefined>(undefined);
const title = signal('');

/** Shows the number on the view's navigation links and in the title of the page. */
export function setBadge(view: string, count: number, words: string, isPart = false): void {
  const old = badges.peek().get(view);
  if (old?.count === count && old.isPart === isPart) return;
  badges.value = new Map([...badges.peek(), [view, { count, words, isPart }]]);
}

/** Sets the title of the page to that of a view. */
export function setTitle(text: string): void {
  title.value = text;
}

effect(() => {
  const count = ['messages', 'approvals'].reduce((sum, view) => sum + (badges.value.get(view)?.count ?? 0), 0);
  const words = [title.value, placeName, 'Postern'].filter(Boolean).join(' · ');
  document.title = `${count > 0 ? `(${count}) ` : ''}${words}`;
});
