// Loads pictures when they become visible, a few at a time.

import { hasSpare, isScarce } from '../../service/budget.ts';

const AT_ONCE = 6;

interface Waiting {
  readonly load: () => Promise<void>;
  /** True for a picture that loads only while requests are left. */
  readonly isBeside: boolean;
}

const unseen = new WeakMap<Element, Waiting>();
const queue: Element[] = [];
let running = 0;

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    queue.push(target);
  }
  next();
});

function next(): void {
  while (running < AT_ONCE && queue.length > 0 && !isScarce()) {
    const element = queue.shift();
    const waiting = element?.isConnected ? unseen.get(element) : undefined;
    if (waiting === undefined || (waiting.isBeside && !hasSpare())) continue;
    running += 1;
    void waiting.load().finally(() => {
      running -= 1;
      next();
    });
  }
}

/** Calls `load` once the element is visible. Returns a function that ends this. */
export function loadWhenSeen(element: Element, isBeside: boolean, load: () => Promise<void>): () => void {
  unseen.set(element, { load, isBeside });
  seen.observe(element);
  return () => {
    unseen.delete(element);
    seen.unobserve(element);
  };
}
