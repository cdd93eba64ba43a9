/**
 * Returns a table whose keys are only those that are written in it. In a plain object, a key from outside such as
 * `constructor` finds a function of JavaScript.
 */
export function lookupTable<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, Value>, entries));
}
