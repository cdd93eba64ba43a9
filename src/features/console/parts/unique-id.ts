import { useState } from 'preact/hooks';

let count = 0;

/** Returns an id that no other element of the page has. Preact's `useId` is unique only within one view. */
export function useUniqueId(): string {
  const [id] = useState(() => {
    count += 1;
    return `u${count}`;
  });
  return id;
}
