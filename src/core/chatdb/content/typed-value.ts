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

/** Converts the archived members of an object. */
type Converter = (values: readonly TypedValue[]) => TypedValue;

/** The classes that this reader knows. */
const CLASSES: ReadonlyMap<string, Converter> = new Map<string, Converter>([
  ['NSString', ([text]) => (typeof text === 'string' ? text : null)],
  ['NSNumber', ([, number]) => (typeof number === 'number' ? number : null)],
  ['NSURL', ([, url]) => (typeof url === 'string' ? new TypedUrl(url) : null)],
  ['NSData', ([, data]) => (data instanceof Uint8Array ? data : null)],
  ['NSArray', (values) => values.slice(1)],
  ['NSSet', (values) => values.slice(1)],
  ['NSAttributedString', (values) => values],
  ['NSDictionary', dictionaryOf],
]);

/** Reports whether this reader knows a class. The first known one of a class and its superclasses decides. */
export function isKnownClass(name: string): boolean {
  return CLASSES.has(name);
}

/** Converts an archived object of a known class; null for an object of any other class. */
export function objectOf(className: string, values: readonly TypedValue[]): TypedValue {
  return CLASSES.get(className)?.(values) ?? null;
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
