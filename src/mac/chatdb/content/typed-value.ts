/** A URL in a typedstream. */
export class TypedUrl {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A decoded NSDictionary. Entries whose key is not a string are left out. */
export type TypedDictionary = ReadonlyMap<string, TypedValue>;

/** A decoded value of a typedstream; null for nil, and for an object of a class that this reader does not know. */
export type TypedValue = null | string | number | Uint8Array | TypedUrl | TypedDictionary | readonly TypedValue[];

/** Converts an archived object. `names` are its class and the superclasses; `values` are its archived members. */
export function objectOf(names: readonly string[], values: readonly TypedValue[]): TypedValue {
  for (const name of names) {
    switch (name) {
      case 'NSString':
        return typeof values[0] === 'string' ? values[0] : null;
      case 'NSNumber':
        return typeof values[1] === 'number' ? values[1] : null;
      case 'NSURL':
        return typeof values[1] === 'string' ? new TypedUrl(values[1]) : null;
      case 'NSData':
        return values[1] instanceof Uint8Array ? values[1] : null;
      case 'NSArray':
      case 'NSSet':
        return values.slice(1);
      case 'NSAttributedString':
        return values;
      case 'NSDictionary':
        return dictionaryOf(values);
      default:
    }
  }
  return null;
}

/** Builds a dictionary from `values`: a count, then alternating keys and values. */
function dictionaryOf(values: readonly TypedValue[]): TypedDictionary {
  const dictionary = new Map<string, TypedValue>();
  for (let at = 1; at + 1 < values.length; at += 2) {
    const key = values[at];
    if (typeof key === 'string') dictionary.set(key, values[at + 1] ?? null);
  }
  return dictionary;
}
