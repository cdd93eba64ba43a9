/** Returns a copy without members that are undefined. Also removes them from `caps`, the limits of a key. */
export function withoutUndefined<Members extends object>(members: Members): WithoutUndefined<Members> {
  return Object.fromEntries(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]: [string, unknown]) => [name, name === 'caps' ? withoutUndefined(value as object) : value]),
  ) as WithoutUndefined<Members>;
}

type WithoutUndefined<Members> = {
  readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> extends infer Value
    ? Name extends 'caps'
      ? WithoutUndefined<Value>
      : Value
    : never;
};
