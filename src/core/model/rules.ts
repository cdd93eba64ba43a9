type Plain = string | number | boolean | null | undefined;
type Names<Value> = Value extends unknown ? keyof Value : never;
type Member<Value, Name extends PropertyKey> = Value extends { readonly [_ in Name]?: infer Found } ? Found : never;
type Present<Value> = Exclude<Value, null | undefined>;

/** Reports which messages a key may read. */
export interface Readable {
  hasMessage(id: string): boolean;
}

/**
 * How a key that may not see everything sees a value: as it is, not at all, changed by a function, or member by member.
 * Only values without members can be `shown`, so that a new member of any object, however deep, does not compile until
 * it is placed. A function decides whether an object is seen, and passes it on through rules of its own.
 */
export type Rule<Value, Chats = Readable> =
  | ((value: Present<Value>, chats: Chats) => Value)
  | (undefined extends Value ? 'hidden' : never)
  | (Present<Value> extends Plain | readonly Plain[]
      ? 'shown'
      : Present<Value> extends readonly (infer Item)[]
        ? Rules<Item, Chats>
        : Rules<Present<Value>, Chats>);

/** The rule of each member of an object, or of the objects in a list. */
export type Rules<Value, Chats = Readable> = {
  readonly [Name in Names<Value>]-?: Rule<Member<Value, Name>, Chats>;
};
