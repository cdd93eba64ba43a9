// The search box above the conversations: finds people and groups by name, then messages.

import { signal } from '@preact/signals';
import { createRef, type TargetedInputEvent, type TargetedKeyboardEvent, type VNode } from 'preact';
import type { Highlight } from '../../../../client/search-types.ts';
import { number } from '../../../../core/model/figures.ts';
import type { Message } from '../../../../core/model/message.ts';
import { isComposing } from '../../parts/composing.ts';
import { Button, Icon } from '../../parts/parts.tsx';
import { pageOf, statusOf } from '../../service/api.ts';
import { isScarce } from '../../service/budget.ts';
import { type Entry, suggestions } from '../../service/directory.ts';
import { goTo, pathOfConversation } from '../../service/route.ts';
import { serves } from '../../service/service.ts';
import { reasonOf } from '../../service/words.ts';
import { currentHit, Hit, PersonHit } from './hits.tsx';
import { openState, PHONE } from './open-state.ts';
import { lackOf, SearchNone, type VainSearch } from './search-none.tsx';

/** A message that matches, as the API answers. */
export interface FoundMessage {
  readonly message: Message;
  readonly highlights: readonly Highlight[];
}

/**
 * A search begins when the user has not typed for this long, in milliseconds. A request for every letter would use up
 * the rate limit, which all clients share.
 */
const WAIT_MS = 400;
const MIN_CHARACTERS = 3;
const HITS_AT_ONCE = 30;
/** A hit that somebody moves to with the keyboard is shown after this time, in milliseconds. */
const REST_MS = 250;

/** Filters offered as buttons: the label, and the search syntax that a click adds to the search box. */
const OFFERS = [
  ['From', 'from:'],
  ['In', 'in:'],
  ['Files', 'has:attachment '],
  ['After', 'after:'],
] as const;

/** The sentence about a search. */
interface Said {
  readonly text: string;
  readonly isBad?: boolean;
  /** The search that has found no message. */
  readonly vain?: VainSearch;
}

const field = createRef<HTMLInputElement>();
const results = createRef<HTMLDivElement>();
const people = signal<readonly Entry[]>([]);
const hits = signal<readonly FoundMessage[]>([]);
/** The path of the next page of hits. */
const next = signal<string | undefined>(undefined);
const said = signal<Said>({ text: '' });
const hasText = signal(false);
/** True while the results are shown in place of the conversations. */
const isOpen = signal(false);

let timer: ReturnType<typeof setTimeout> | undefined;
let running = new AbortController();
let isAsking = false;
/** The query whose hits are shown or requested. */
let asked = '';

/** A hit to show. In a preview the focus stays in the results. */
interface Wanted {
  readonly message: Message;
  readonly isPreview: boolean;
}

/** The hit to show, kept so that its conversation need not load the message again. */
let wanted: Wanted | undefined;

/** Returns the hit to show if its message has this id, otherwise undefined. Forgets the hit in both cases. */
export function takeWanted(id: string): Wanted | undefined {
  const taken = wanted?.message.id === id ? wanted : undefined;
  wanted = undefined;
  return taken;
}

/** Shows a hit in its conversation, beside the results. */
function showHit(message: Message, isPreview: boolean): void {
  clearTimeout(timer);
  wanted = { message, isPreview };
  currentHit.value = message.id;
  goTo(pathOfConversation(message.conversation_id, message.id), { replaces: isPreview });
}

/** Reports whether there is room for a hit beside the results, and requests for showing it. */
const canPreview = (): boolean => !PHONE.matches && !isScarce();

/** Returns what is in the search box. */
const inBox = (): string => field.current?.value.trim() ?? '';

/** Returns the query with `*` after the last word, which the user may not have finished. */
function unfinished(text: string): string {
  const isQuoted = text.split('"').length % 2 === 0;
  return !isQuoted && /(?:^|\s)[\p{L}\p{M}\p{N}]{3,}$/u.test(text) ? `${text}*` : text;
}

/** Finds people and groups alone. */
async function searchPeople(query: string): Promise<void> {
  abort();
  asked = query;
  await readPeople(query);
  if (query !== asked) return;
  hits.value = [];
  next.value = undefined;
  isOpen.value = true;
  const more = serves('searchMessages') ? 'Messages are searched from three letters on.' : '';
  said.value = { text: people.value.length === 0 ? `Nobody found. ${more}`.trim() : more };
}

async function search(query: string): Promise<void> {
  if (query === '' || query === asked) return;
  if (!serves('searchMessages')) return searchPeople(query);
  asked = query;
  void readPeople(query);
  // Dates in the query are days of the zone in which the console shows times.
  const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const path = `search?limit=${HITS_AT_ONCE}&include=contacts,details&time_zone=${zone}&q=${encodeURIComponent(query)}`;
  await read(path, []);
}

/** Reads people and groups, which are shown above the hits because most searches are for them. */
async function readPeople(query: string): Promise<void> {
  const words = query.replace(/[*"]/g, '').trim();
  const entries = /\w:/.test(words) ? [] : await suggestions(words);
  if (query === asked) people.value = entries;
}

/** Cancels the running search request and forgets its query. */
function abort(): void {
  running.abort();
  isAsking = false;
  asked = '';
}

/** Reads a page of hits, which follow `before`. Cancels the previous request. */
async function read(path: string, before: readonly FoundMessage[]): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal: aborted } = running;
  isAsking = true;
  try {
    const page = await pageOf<FoundMessage>(path, { signal: aborted });
    if (aborted.aborted) return;
    isAsking = false;
    hits.value = [...before, ...page.items];
    next.value = page.next;
    isOpen.value = true;
    const lacks = lackOf(page.headers);
    const text = [countOf(hits.value.length), lacks].filter(Boolean).join(' ');
    const query = inBox();
    const longer = unfinished(query);
    const vain = { query, lacks, longer: longer === asked ? undefined : longer };
    said.value = hits.value.length === 0 ? { text, vain } : { text };
    const [first] = hits.value;
    const isFree = openState.value.id === undefined && !openState.value.isNew;
    if (first?.message.conversation_id && isFree && canPreview()) showHit(first.message, true);
  } catch (error) {
    if (aborted.aborted) return;
    isAsking = false;
    // The service would refuse an invalid query again.
    if (statusOf(error) !== 400) asked = '';
    said.value = { text: reasonOf(error), isBad: true };
  }
}

/** Returns the search that is over and has found neither messages nor people. */
const vainSearch = (): VainSearch | undefined => (people.value.length === 0 ? said.value.vain : undefined);

function countOf(count: number): string {
  if (next.value !== undefined) return `The newest ${count} messages.`;
  if (count < 2) return count === 0 ? 'No message found.' : '1 message.';
  return `${number(count)} messages, newest first.`;
}

/** Empties the search box and shows the conversations again. */
function closeSearch(): void {
  clearTimeout(timer);
  abort();
  if (field.current !== null) field.current.value = '';
  hits.value = [];
  people.value = [];
  isOpen.value = false;
  next.value = undefined;
  hasText.value = false;
  currentHit.value = undefined;
  said.value = { text: '' };
}

/** Gives the search box the focus; it then contains `words`. */
export function focusSearch(words?: string): void {
  if (isOpen.value) closeSearch();
  if (field.current === null) return;
  field.current.focus();
  if (words === undefined) return;
  field.current.value = words;
  hasText.value = words !== '';
}

/** Searches for words as if somebody had typed them. */
export function searchFor(words: string): void {
  focusSearch(words);
  field.current?.form?.requestSubmit();
}

function typed({
  currentTarget,
  isComposing,
}: Pick<TargetedInputEvent<HTMLInputElement>, 'currentTarget' | 'isComposing'>): void {
  clearTimeout(timer);
  if (isAsking) abort();
  const text = currentTarget.value.trim();
  hasText.value = text !== '';
  if (text === '') closeSearch();
  else if (!isComposing) {
    const isShort = [...text].length < MIN_CHARACTERS;
    timer = setTimeout(() => void (isShort ? searchPeople(text) : search(unfinished(text))), WAIT_MS);
  }
}

/** A service without full-text search still finds people and groups. */
const labelOfSearch = (): string =>
  serves('searchMessages') ? 'Search people and messages' : 'Find a person or group';

export const SearchForm = (): VNode => (
  <search>
    <form
      id="search-form"
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        clearTimeout(timer);
        void search(inBox());
      }}
    >
      <div class="searchbox">
        <Icon name="search" />
        <input
          id="search"
          ref={field}
          class="input"
          type="search"
          autocomplete="off"
          spellcheck={false}
          placeholder={serves('searchMessages') ? 'People and messages' : labelOfSearch()}
          aria-label={labelOfSearch()}
          aria-describedby="search-state"
          onInput={typed}
          onCompositionEnd={({ currentTarget }) => typed({ currentTarget, isComposing: false })}
          onKeyDown={(event) => {
            if (isComposing(event)) return;
            if (event.key === 'Escape') closeSearch();
            else if (event.key === 'ArrowDown') results.current?.querySelector('button')?.focus();
          }}
        />
      </div>
      <div
        class="filters"
        role="group"
        aria-label="Narrow the search"
        hidden={!hasText.value || !serves('searchMessages')}
      >
        {OFFERS.map(([text, words]) => (
          <button key={words} type="button" class="chip" onClick={() => narrow(words)}>
            {text === 'Files' && <Icon name="clip" />}
            {text}
          </button>
        ))}
      </div>
      <p id="search-state" class={vainSearch() ? 'unseen' : said.value.isBad ? 'err' : 'hint'} role="status">
        {said.value.text}
      </p>
    </form>
  </search>
);

/** Adds words of the search syntax to the query. */
function narrow(words: string): void {
  if (field.current === null) return;
  field.current.value = `${field.current.value.trimEnd()} ${words}`.trimStart();
  field.current.focus();
  if (words.endsWith(' ')) void search(field.current.value.trim());
}

/** Moves the focus through the results, and from the first back to the search box. */
function pressed(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const all = [...event.currentTarget.querySelectorAll('button')];
  const at = event.target instanceof HTMLButtonElement ? all.indexOf(event.target) : -1;
  if (step === undefined || at < 0) return;
  event.preventDefault();
  (all[at + step] ?? (at === 0 ? field.current : all[at]))?.focus();
}

/** The results, shown in place of the conversations. */
export function Results(): VNode {
  const vain = vainSearch();
  return (
    <div class="scroll" id="found" data-rows hidden={!isOpen.value} ref={results} onKeyDown={pressed}>
      {vain && (
        <SearchNone
          {...vain}
          search={(query) => {
            focusSearch(query);
            void search(unfinished(query));
          }}
          clear={() => focusSearch('')}
        />
      )}
      <h2 hidden={people.value.length === 0}>People and groups</h2>
      <ul id="people-list" aria-label="People and groups" hidden={people.value.length === 0}>
        {people.value.map((entry) => (
          <PersonHit key={entry.id} {...entry} />
        ))}
      </ul>
      <h2 hidden={hits.value.length === 0}>Messages</h2>
      <ul id="hit-list" aria-label="Messages found, newest first" hidden={hits.value.length === 0}>
        {hits.value.map((hit) => (
          <Hit
            key={hit.message.id}
            {...hit}
            choose={() => showHit(hit.message, false)}
            reach={() => {
              clearTimeout(timer);
              timer = setTimeout(() => canPreview() && showHit(hit.message, true), REST_MS);
            }}
          />
        ))}
      </ul>
      <Button id="more-hits" hidden={next.value === undefined} run={() => read(next.value ?? '', hits.value)}>
        More
      </Button>
    </div>
  );
}
