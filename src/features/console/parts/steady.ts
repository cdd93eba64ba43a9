// Lists whose rows act: while somebody points at one, no row moves, so that a click meant for one never hits another.

import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';

/** An item in the place where the list showed it, even if it has left the list since. */
export interface Placed<Item> {
  readonly item: Item;
  readonly isGone: boolean;
}

/** The attributes of the element whose rows stay. */
export interface SteadyPlace<Place extends HTMLElement> {
  readonly ref: RefObject<Place | null>;
  readonly onPointerLeave: () => void;
}

/**
 * Returns the items to show and the attributes of the element around them. While somebody points at that element, its
 * rows keep their places and others are added after them.
 */
export function useSteady<Item, Place extends HTMLElement>(
  items: readonly Item[],
  idOf: (item: Item) => string,
): readonly [rows: readonly Placed<Item>[], place: SteadyPlace<Place>] {
  const ref = useRef<Place>(null);
  const before = useRef<readonly Item[]>(items);
  // A component that reads a signal is drawn again when it changes.
  const leavings = useSignal(0);
  void leavings.value;
  const rows = placed(ref.current?.matches(':hover') === true ? before.current : [], items, idOf);
  before.current = rows.map(({ item }) => item);
  const onPointerLeave = (): void => {
    leavings.value += 1;
  };
  return [rows, { ref, onPointerLeave }];
}

function placed<Item>(before: readonly Item[], now: readonly Item[], idOf: (item: Item) => string): Placed<Item>[] {
  const left = new Map(now.map((item) => [idOf(item), item]));
  const rows = before.map((old) => {
    const item = left.get(idOf(old));
    left.delete(idOf(old));
    return { item: item ?? old, isGone: item === undefined };
  });
  return [...rows, ...[...left.values()].map((item) => ({ item, isGone: false }))];
}
