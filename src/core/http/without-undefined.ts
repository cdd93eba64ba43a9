/** Returns a copy without members that are undefined. */
export function withoutUndefined<Members extends object>(members: Members): WithoutUndefined<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<Members>;
}

export type WithoutUndefined<Members> = {
  readonly [Name in keyof Members]?: Exclude<Members[Name], undefined>;
};
