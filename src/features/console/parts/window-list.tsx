// A list that keeps only the rows in or near the view in the document, because a browser would lay out thousands of
// rows slowly.

import { useSignal } from '@preact/signals';
import type { ComponentChildren, Ref, VNode } from 'preact';
import { useImperativeHandle, useLayoutEffect, useRef } from 'preact/hooks';

const SPARE = 8;
/** Distance from the end, in pixels, at which the next items are wanted. */
const NEAR = 600;

/** The methods of a list. */
export interface WindowListHandle {
  /** Scrolls until the item is in view, and gives it the focus. */
  readonly focus: (index: number) => void;
}

interface WindowListProps<Item> {
  readonly id: string;
  /** The names of the scrolling region and of the list in it, for screen readers. */
  readonly regionLabel: string;
  readonly label: string;
  /** The row above the list. */
  readonly head?: ComponentChildren;
  readonly items: readonly Item[];
  readonly height: number;
  readonly keyOf: (item: Item) => string;
  readonly row: (item: Item) => VNode;
  readonly handle?: Ref<WindowListHandle>;
  /** Called when the end is near, perhaps often. */
  readonly reachEnd?: () => void;
}

/** Scrolls until a row is in view. `room` is the height of the row and of what is above the list. */
function reveal(scroller: Element, top: number, room: number): void {
  const { scrollTop, clientHeight } = scroller;
  if (top < scrollTop) scroller.scrollTop = top;
  else if (top + room > scrollTop + clientHeight) scroller.scrollTop = top + room - clientHeight;
}

/**
 * Rows that stay in view keep their elements, so that a focused row keeps the focus. When items appear above, scrolls
 * by their height, so that visible items do not move on the screen; not at the top of the list.
 */
export function WindowList<Item>(props: WindowListProps<Item>): VNode {
  const { id, regionLabel, label, head, items, height, keyOf, row, handle = null, reachEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const first = useRef('');
  /** The wanted rows. A change of the numbers, not of the position, draws the list again. */
  const from = useSignal(0);
  const size = useSignal(0);
  const measure = (): void => {
    if (scroller.current === null || box.current === null) return;
    const { scrollTop, clientHeight, scrollHeight } = scroller.current;
    if (scrollHeight - scrollTop - clientHeight < NEAR) reachEnd?.();
    from.value = Math.max(0, Math.floor((scrollTop - box.current.offsetTop) / height) - SPARE);
    size.value = Math.ceil(clientHeight / height) + 2 * SPARE;
  };
  useLayoutEffect(() => {
    if (scroller.current === null) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [height]);
  useLayoutEffect(() => {
    const added = first.current === '' ? 0 : items.findIndex((item) => keyOf(item) === first.current);
    first.current = items[0] === undefined ? '' : keyOf(items[0]);
    if (scroller.current !== null && added > 0 && scroller.current.scrollTop > height) {
      scroller.current.scrollTop += added * height;
    }
    measure();
  });
  useImperativeHandle(handle, () => ({
    focus(index) {
      if (scroller.current === null || box.current === null) return;
      reveal(scroller.current, index * height, box.current.offsetTop + height);
      measure();
      // The row may be drawn only now.
      requestAnimationFrame(() => {
        const item = scroller.current?.querySelector(`[aria-posinset="${index + 1}"]`);
        (item?.firstElementChild as HTMLElement | null | undefined)?.focus({ preventScroll: true });
      });
    },
  }));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs a way to scroll it by keyboard.
    <section class="scroll" id={id} tabIndex={0} aria-label={regionLabel} ref={scroller} onScroll={measure}>
      {head}
      <div class="window" ref={box} style={{ height: `${items.length * height}px` }}>
        <div role="list" data-rows aria-label={label} style={{ transform: `translateY(${from.value * height}px)` }}>
          {items.slice(from.value, from.value + size.value).map((item, index) => (
            <div key={keyOf(item)} role="listitem" aria-setsize={items.length} aria-posinset={from.value + index + 1}>
              {row(item)}
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}
