/** Removes undefined members, also inside `caps`. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]: [string, unknown]) => [name, name === 'caps' ? given(value as object) : value]),
  ) as Given<Members>;
}

type Given<Members> = {
  readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> extends infer Value
    ? Name extends 'caps'
      ? Given<Value>
      : Value
    : never;
};
