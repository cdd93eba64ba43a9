import type { ReadableChats } from './readable.ts';

type Plain = string | number | boolean | null | undefined;
type Names<Value> = Value extends unknown ? keyof Value : never;
type Member<Value, Name extends PropertyKey> = Value extends { readonly [_ in Name]?: infer Found } ? Found : never;
type Present<Value> = Exclude<Value, null | undefined>;

/**
 * How a limited key sees a value: as it is, not at all, changed by a function, or member by member. Only values without
 * members can be `shown`, so that a new member of any object, however deep, does not compile until it is placed.
 */
export type Rule<Value> =
  | ((value: Present<Value>, chats: ReadableChats) => Value)
  | (undefined extends Value ? 'hidden' : never)
  | (Present<Value> extends Plain | readonly Plain[]
      ? 'shown'
      : Present<Value> extends readonly (infer Item)[]
        ? Rules<Item>
        : Rules<Present<Value>>);

/** The rule of each member of an object, or of the objects in a list. */
export type Rules<Value> = { readonly [Name in Names<Value>]-?: Rule<Member<Value, Name>> };

type AnyRule =
  | 'shown'
  | 'hidden'
  | ((value: unknown, chats: ReadableChats) => unknown)
  | { readonly [name: string]: AnyRule };

/** Returns the object as a key with these readable conversations sees it. Leaves out members without a rule. */
export function narrowed<Value extends object>(value: Value, rules: Rules<Value>, chats: ReadableChats): Value {
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
