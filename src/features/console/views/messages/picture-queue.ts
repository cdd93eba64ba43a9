// Loads pictures when they become visible, a few at a time.

import { hasSpare, isScarce } from '../../service/budget.ts';

const AT_ONCE = 6;
/** Delay before a picture that was not asked for, to stay within the limit, is tried again. */
const AGAIN_MS = 10_000;

interface Waiting {
  /** Resolves with false if the picture has to be tried again. */
  readonly load: () => Promise<boolean>;
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
    void waiting.load().then((isDone) => {
      running -= 1;
      if (!isDone && element !== undefined) tryAgain(element);
      next();
    });
  }
}

/** Waits until requests may be left, and until somebody sees the picture. */
function tryAgain(element: Element): void {
  setTimeout(() => element.isConnected && seen.observe(element), AGAIN_MS);
}

/** Calls `load` once the element is visible. Returns a function that ends this. */
export function loadWhenSeen(element: Element, isBeside: boolean, load: () => Promise<boolean>): () => void {
  unseen.set(element, { load, isBeside });
  seen.observe(element);
  return () => {
    unseen.delete(element);
    seen.unobserve(element);
  };
}
