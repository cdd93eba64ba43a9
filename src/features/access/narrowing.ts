import type { Rules } from '../../core/model/rules.ts';
import type { ReadableChats } from './readable.ts';

/** The rule of each member of an object, for limited keys. */
export type KeyRules<Value> = Rules<Value, ReadableChats>;

type AnyRule =
  | 'shown'
  | 'hidden'
  | ((value: unknown, chats: ReadableChats) => unknown)
  | { readonly [name: string]: AnyRule };

/** Returns the object as a key with these readable conversations sees it. Leaves out members without a rule. */
export function narrowed<Value extends object>(value: Value, rules: KeyRules<Value>, chats: ReadableChats): Value {
  return seen(value, rules as AnyRule, chats) as Value;
}

function seen(value: unknown, rule: AnyRule, chats: ReadableChats): unknown {
  if (rule === 'shown' || value === null || value === undefined) return value;
  if (typeof rule === 'function') return rule(value, chats);
  if (rule === 'hidden') return undefined;
  if (Array.isArray(value)) return value.map((item) => seen(item, rule, chats));
  const shown: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(rule, name) ? rule[name] : undefined;
    if (own !== undefined && own !== 'hidden') shown[name] = seen(member, own, chats);
  }
  return shown;
}

/** The rule of a dictionary, which has no members to place. */
export const wholeDictionary = <Value>(value: Value): Value => value;
