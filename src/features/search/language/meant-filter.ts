import { editDistance } from '../../../core/model/edit-distance.ts';
import { lookupTable } from '../../../core/model/lookup-table.ts';

const KEY_AND_VALUE = /^(\p{L}{2,12}):(?!\/\/)(\S+)$/u;
const DATE = /^(?:\d{4}-|today|yesterday)/iu;
/** Words with which other programs filter, and the filters that mean the same here. */
const OTHER_WORDS: Readonly<Record<string, string>> = lookupTable({
  sender: 'from',
  since: 'after',
  until: 'before',
  conversation: 'in',
});
/** The filters that a misspelled word may mean, each with what must follow, so that `alter:ego` stays a text. */
const FILTERS: readonly (readonly [name: string, value: RegExp])[] = [
  ['from', /./u],
  ['has', /^"?attach/iu],
  ['after', DATE],
  ['before', DATE],
];

/**
 * Returns the filter that a word such as `form:ana` was probably meant to be. Returns undefined for a text such as
 * `note:this`.
 */
export function meantFilter(word: string): string | undefined {
  const [, given = '', value = ''] = KEY_AND_VALUE.exec(word) ?? [];
  const key = given.toLowerCase();
  const other = Object.hasOwn(OTHER_WORDS, key) ? OTHER_WORDS[key] : undefined;
  const isFilter = (name: string, wanted: RegExp): boolean =>
    wanted.test(value) && (name === other || editDistance(key, name) === 1);
  return FILTERS.find(([name, wanted]) => isFilter(name, wanted))?.[0] ?? (other === 'in' ? other : undefined);
}
