// The messages of the open conversation: a window of bounded size that moves as the user scrolls. The list is filled
// by hand, because its scroll position must stay with a message while pages come and go at both ends.

import { signal } from '@preact/signals';
import type { Message } from '../../../../core/model/message.ts';
import type { Reaction } from '../../../../core/model/reaction.ts';
import { toast } from '../../parts/toast.ts';
import { pause } from '../../parts/view.tsx';
import { pageOf } from '../../service/api.ts';
import { isOfPoll } from '../../service/content.ts';
import { today } from '../../service/today.ts';
import { reasonOf } from '../../service/words.ts';
import { arrange, MessageItem, withLater } from './thread-item.tsx';
import { around, cursorIn, pathOfMessages } from './thread-pages.ts';

/** Some items, and a cursor that marks one of their messages. */
interface ItemPage {
  items: MessageItem[];
  readonly cursor?: string | undefined;
}

/** Messages per request. The answer can repeat messages already shown, because a page has only one cursor. */
const MORE = 100;
const MAX_SHOWN = 400;
/** Messages that are laid out at once. */
const AT_ONCE = 20;
/** Distance from an end, in pixels, at which the next page loads. */
const NEAR = 600;

const topOf = ({ element }: MessageItem): number => element.getBoundingClientRect().top;

class Thread {
  /** True if newer messages exist than those that are shown. */
  readonly hasNewer = signal(false);
  #list: HTMLElement = document.createElement('ol');
  #openId = '';
  /** Counts openings and closings. If the count changes during a request, the answer is dropped. */
  #openings = 0;
  /** The pages shown, oldest first. */
  #pages: ItemPage[] = [];
  /** Sends of Postern that are still to be made. They stand among the messages that Messages sends later. */
  #later: readonly HTMLElement[] = [];
  #hasOlder = false;
  /** The opening whose next page is being added. */
  #extending: number | undefined;
  #wasAtEnd = true;
  #lastTop = 0;
  /** Keeps the newest message visible when a picture loads and when the text box below grows. */
  readonly #sizes = new ResizeObserver(() => {
    if (this.#wasAtEnd) this.#toEnd();
  });

  get openId(): string {
    return this.#openId;
  }

  /** Id of the last message shown. */
  get lastId(): string | undefined {
    return this.#items().at(-1)?.id;
  }

  /** Uses an element of the page as the list. */
  attach(list: HTMLElement): void {
    if (list === this.#list) return;
    this.#sizes.unobserve(this.#list);
    list.replaceChildren(...this.#list.childNodes);
    this.#list = list;
    this.#sizes.observe(list);
  }

  /**
   * Shows the newest messages of a conversation, or those from `wanted` on, which gets the focus unless `isPreview`.
   */
  async open(id: string, wanted?: Message, isPreview = false): Promise<void> {
    this.close();
    this.#list.replaceChildren();
    this.#openId = id;
    this.#hasOlder = false;
    await this.#show(wanted, (found) => this.mark(found, isPreview));
  }

  /** Shows sends that are still to be made, soonest first. */
  showLater(elements: readonly HTMLElement[]): void {
    const isSame = elements.length === this.#later.length && elements.every((one, at) => one === this.#later[at]);
    this.#later = elements;
    if (isSame || this.#list.hasAttribute('aria-busy')) return;
    const isAtEnd = this.#isAtEnd();
    this.#render();
    if (isAtEnd) this.#toEnd();
  }

  /** Marks the list as one whose messages are still to come. */
  expect(): void {
    this.#list.setAttribute('aria-busy', 'true');
  }

  close(): void {
    this.#list.removeAttribute('aria-busy');
    this.#list.classList.remove('bare');
    this.#openId = '';
    this.#openings += 1;
    this.#pages = [];
    this.hasNewer.value = false;
    this.#render();
  }

  /**
   * Reloads the messages of the open conversation from the first visible one on, which stays where it is. Does nothing
   * while the list shows only older messages.
   */
  async reload(): Promise<void> {
    if (this.#openId === '' || this.hasNewer.value) return;
    const first = this.#isAtEnd() ? undefined : this.#firstVisible();
    const top = first === undefined ? 0 : topOf(first);
    await this.#show(first?.message, (id) => {
      const same = this.#find(id);
      if (same !== undefined) this.#list.scrollTop += topOf(same) - top;
    });
  }

  /** `place` scrolls to the wanted message. */
  async #show(wanted?: Message, place?: (id: string) => void): Promise<void> {
    const own = this.#openings;
    const before = new Set(this.#items());
    this.expect();
    try {
      const { items, next, isNewest } = await around(this.#openId, wanted);
      // Drops the answer if the user has meanwhile opened another conversation or closed this one.
      if (own !== this.#openings) return;
      // Puts messages that arrived as events during the request after the loaded ones.
      const known = new Set(items.map(({ id }) => id));
      const later = isNewest ? this.#items().filter((item) => !known.has(item.id) && !before.has(item)) : [];
      this.#pages = [{ items: items.map((one) => this.#make(one)), cursor: cursorIn(next) }];
      for (const item of later) this.#append(item);
      this.#hasOlder = isNewest ? next !== undefined : true;
      this.hasNewer.value = !isNewest;
      this.#render();
      this.#list.classList.toggle('bare', this.#items().length === 0);
      this.#wasAtEnd = wanted === undefined;
      if (wanted === undefined) this.#toEnd();
      else place?.(wanted.id);
      // A list that is too short to scroll causes no scroll event, so its next page is loaded here.
      this.noteScroll();
    } catch (error) {
      if (own !== this.#openings) return;
      // The conversation is then opened again when it is shown again.
      if (this.#pages.length === 0) this.#openId = '';
      throw error;
    } finally {
      if (own === this.#openings) this.#list.removeAttribute('aria-busy');
    }
  }

  /** Adds the page before or after the shown ones. */
  async #extend(isOlder: boolean): Promise<void> {
    const cursor = this.#pages.at(isOlder ? 0 : -1)?.cursor;
    if (this.#extending === this.#openings || cursor === undefined) return;
    const own = this.#openings;
    this.#extending = own;
    try {
      const order = isOlder ? 'desc' : 'asc';
      const path = pathOfMessages(this.#openId, { limit: String(MORE), order, cursor });
      const { items, next } = await pageOf<Message>(path);
      if (own !== this.#openings) return;
      const known = new Set(this.#items().map(({ id }) => id));
      const added = items.filter(({ id }) => !known.has(id));
      await this.#addPage(added, cursorIn(next), isOlder);
      if (own !== this.#openings) return;
      this.#keepingPlace([], () => this.#drop(isOlder, next !== undefined && added.length > 0));
    } catch (error) {
      if (own === this.#openings) toast(reasonOf(error), true);
    } finally {
      if (this.#extending === own) this.#extending = undefined;
    }
    // Whoever has scrolled by then to where the frame before was causes no scroll event.
    requestAnimationFrame(() => this.#loadWhatIsNear());
  }

  /** Adds a page at one end, in portions: the browser would need too long to lay it out at once. */
  async #addPage(messages: readonly Message[], cursor: string | undefined, isOlder: boolean): Promise<void> {
    if (messages.length === 0) return;
    const own = this.#openings;
    const page: ItemPage = { items: [], cursor };
    this.#pages[isOlder ? 'unshift' : 'push'](page);
    for (let at = 0; at < messages.length && own === this.#openings; at += AT_ONCE) {
      const items = messages.slice(at, at + AT_ONCE).map((one) => this.#make(one));
      page.items = isOlder ? [...items.reverse(), ...page.items] : [...page.items, ...items];
      this.#keepingPlace(items, () => this.#render());
      await pause();
    }
  }

  /** Removes pages beyond `MAX_SHOWN` messages at one end, after a page was added at the other. */
  #drop(isOlder: boolean, hasMore: boolean): void {
    const pages = this.#pages;
    if (isOlder) this.#hasOlder = hasMore;
    else this.hasNewer.value = hasMore;
    while (pages.length > 2 && this.#items().length > MAX_SHOWN && pages.at(isOlder ? -2 : 1)?.cursor !== undefined) {
      if (isOlder) pages.pop();
      else pages.shift();
      if (isOlder) this.hasNewer.value = true;
      else this.#hasOlder = true;
    }
    this.#render();
  }

  #make(message: Message): MessageItem {
    const item = new MessageItem(message);
    if (message.attachments.length > 0) this.#sizes.observe(item.element);
    return item;
  }

  #items(): readonly MessageItem[] {
    return this.#pages.flatMap(({ items }) => items);
  }

  /** Puts a new message after the others, but before those that Messages will send only later. */
  #append(item: MessageItem): void {
    const items = this.#pages.at(-1)?.items ?? [];
    const at = items.findIndex((other) => other.isLaterThan(item));
    items.splice(at < 0 ? items.length : at, 0, item);
  }

  #find(id: string): MessageItem | undefined {
    return this.#items().find((item) => item.id === id);
  }

  /**
   * Runs `change`, which inserts `added`, and then scrolls so that the first visible message does not move on the
   * screen.
   */
  #keepingPlace(added: readonly MessageItem[], change: () => void): void {
    const anchor = this.#firstVisible(new Set(added));
    const before = anchor && topOf(anchor);
    change();
    if (anchor?.element.isConnected && before !== undefined) this.#list.scrollTop += topOf(anchor) - before;
  }

  #firstVisible(except?: ReadonlySet<MessageItem>): MessageItem | undefined {
    const { top } = this.#list.getBoundingClientRect();
    const isVisible = ({ element }: MessageItem): boolean => element.getBoundingClientRect().bottom > top;
    return this.#items().find((item) => !except?.has(item) && isVisible(item));
  }

  /** Puts the items into the list. Those that stay are not taken out, or the browser would lay them out again. */
  #render(): void {
    const wanted = this.#elements();
    const stays = new Set<Element>(wanted);
    for (const old of [...this.#list.children]) if (!stays.has(old)) old.remove();
    let next = this.#list.firstElementChild;
    for (const element of wanted) {
      if (element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(element, next);
    }
    arrange(this.#list);
  }

  /** Returns the elements of the list in order. Those of sends to come are there with the newest messages. */
  #elements(): readonly HTMLElement[] {
    const elements = this.#items().map(({ element }) => element);
    return this.hasNewer.peek() ? elements : withLater(elements, this.#later);
  }

  /** Marks a message. It gets the focus unless `isPreview` is true. Returns false if it is not shown. */
  mark(id: string, isPreview = false): boolean {
    const item = this.#find(id);
    if (item === undefined) return false;
    for (const old of this.#list.querySelectorAll('.found')) old.classList.remove('found');
    item.element.classList.add('found');
    item.element.scrollIntoView({ block: 'center' });
    if (!isPreview) item.focus();
    return true;
  }

  /** Updates a message if it is shown. */
  update(message: Message, changes: readonly string[]): void {
    const item = this.#find(message.id);
    if (changes.includes('deleted')) this.remove(message.id);
    else if (changes.includes('restored') && message.conversation_id === this.#openId) void this.reload();
    else if (item !== undefined) {
      const isAtEnd = this.#isAtEnd();
      item.update(message, changes);
      if (message.attachments.length > 0) this.#sizes.observe(item.element);
      arrange(this.#list);
      if (isAtEnd) this.#toEnd();
    }
  }

  /** Names the days between the messages as they are called today. */
  nameDays(): void {
    arrange(this.#list);
  }

  remove(id: string): void {
    const item = this.#find(id);
    if (item === undefined) return;
    for (const page of this.#pages) page.items = page.items.filter((other) => other !== item);
    item.element.remove();
    arrange(this.#list);
  }

  /** Adds a reaction to its message, or removes it. */
  react(reaction: Reaction, isAdded: boolean): void {
    const item = isOfPoll(reaction) ? undefined : this.#find(reaction.message_id);
    if (item === undefined) return;
    const isAtEnd = this.#isAtEnd();
    item.react(reaction, isAdded);
    if (isAtEnd) this.#toEnd();
  }

  /** Adds a message that has just arrived, if its conversation is open and the list shows the newest messages. */
  add(message: Message): void {
    if (message.conversation_id !== this.#openId || this.hasNewer.value) return;
    // The list may have been loaded before the message's event, which is then the newer of the two.
    if (this.#find(message.id) !== undefined) {
      this.update(message, []);
      return;
    }
    const isAtEnd = this.#isAtEnd();
    const item = this.#make(message);
    if (this.#pages.length === 0) this.#pages = [{ items: [] }];
    this.#append(item);
    this.#render();
    if (isAtEnd || message.is_from_me) this.#toEnd();
  }

  noteScroll(): void {
    // The list counts as at its end until the user scrolls up, even if a loading picture has moved the end away.
    this.#wasAtEnd = this.#isAtEnd() || (this.#wasAtEnd && this.#list.scrollTop >= this.#lastTop);
    this.#lastTop = this.#list.scrollTop;
    this.#loadWhatIsNear();
  }

  #loadWhatIsNear(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#list;
    if (this.#hasOlder && scrollTop < NEAR) void this.#extend(true);
    else if (this.hasNewer.value && scrollHeight - scrollTop - clientHeight < NEAR) void this.#extend(false);
  }

  #isAtEnd(): boolean {
    return this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 80;
  }

  #toEnd(): void {
    this.#list.scrollTop = this.#list.scrollHeight;
  }
}

export const thread = new Thread();
today.subscribe(() => thread.nameDays());
