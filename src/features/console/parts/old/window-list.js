// A list that keeps only the rows in or near the view in the document, because a browser would lay out thousands of
// rows slowly.

import { h } from './dom.js';

const SPARE = 8;

/**
 * Shows items in a scrolling element. Reuses the elements of rows that stay in view, so that a focused row keeps the
 * focus.
 * @template Item
 */
export class WindowList {
  /** @type {readonly Item[]} */
  #items = [];
  /** @type {Map<string, HTMLElement>} */
  #shown = new Map();
  #isAsked = false;
  #rows = h('div');
  #box = h('div', 'window', this.#rows);
  /** @type {HTMLElement} */
  #scroller;
  #height;
  #keyOf;
  #make;

  /**
   * @param {{ readonly scroller: HTMLElement, readonly height: () => number, readonly keyOf: (item: Item) => string,
   *   readonly make: (item: Item) => HTMLElement, readonly label: string }} parts
   */
  constructor({ scroller, height, keyOf, make, label }) {
    this.#scroller = scroller;
    this.#height = height;
    this.#keyOf = keyOf;
    this.#make = make;
    this.#rows.setAttribute('role', 'list');
    this.#rows.setAttribute('aria-label', label);
    scroller.append(this.#box);
    scroller.addEventListener('scroll', () => this.#ask(), { passive: true });
    new ResizeObserver(() => this.#ask()).observe(scroller);
  }

  /**
   * Shows these items. `addedAbove` is the number of new items above the former ones. Unless the list is at its top,
   * scrolls by the height of the new items, so that visible items do not move on the screen.
   * @param {readonly Item[]} items
   * @param {number} [addedAbove]
   */
  show(items, addedAbove = 0) {
    this.#items = items;
    const height = this.#height();
    this.#box.style.height = `${items.length * height}px`;
    if (addedAbove > 0 && this.#scroller.scrollTop > height) this.#scroller.scrollTop += addedAbove * height;
    this.#draw();
  }

  /** Makes every row again. Called when the content or the height of rows has changed. */
  renew() {
    this.#box.style.height = `${this.#items.length * this.#height()}px`;
    this.#shown.clear();
    this.#rows.replaceChildren();
    this.#draw();
  }

  /**
   * Scrolls until the item is in view, and returns its element.
   * @param {number} index
   */
  reveal(index) {
    const height = this.#height();
    const { scrollTop, clientHeight } = this.#scroller;
    const top = this.#box.offsetTop + index * height;
    if (top < scrollTop + this.#box.offsetTop) this.#scroller.scrollTop = top - this.#box.offsetTop;
    else if (top + height > scrollTop + clientHeight) this.#scroller.scrollTop = top + height - clientHeight;
    this.#draw();
    const item = this.#items[index];
    const row = item === undefined ? undefined : this.#shown.get(this.#keyOf(item));
    return /** @type {HTMLElement | null | undefined} */ (row?.firstElementChild);
  }

  #ask() {
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => {
      this.#isAsked = false;
      this.#draw();
    });
  }

  #draw() {
    const height = this.#height();
    const { scrollTop, clientHeight } = this.#scroller;
    const from = Math.max(0, Math.floor((scrollTop - this.#box.offsetTop) / height) - SPARE);
    const to = Math.min(this.#items.length, from + Math.ceil(clientHeight / height) + 2 * SPARE);
    const wanted = this.#items.slice(from, to);
    const keys = new Set(wanted.map(this.#keyOf));
    for (const [key, row] of this.#shown) {
      if (keys.has(key)) continue;
      row.remove();
      this.#shown.delete(key);
    }
    let before = this.#rows.firstElementChild;
    for (const [index, item] of wanted.entries()) {
      const key = this.#keyOf(item);
      let row = this.#shown.get(key);
      if (row === undefined) {
        row = h('div', { role: 'listitem' }, this.#make(item));
        row.setAttribute('aria-setsize', String(this.#items.length));
        this.#shown.set(key, row);
      }
      row.setAttribute('aria-posinset', String(from + index + 1));
      if (row === before) before = before.nextElementSibling;
      else this.#rows.insertBefore(row, before);
    }
    this.#rows.style.transform = `translateY(${from * height}px)`;
  }
}
