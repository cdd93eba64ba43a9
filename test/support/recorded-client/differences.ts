type Members = Readonly<Record<string, unknown>>;

/** Lists each value that differs between two answers, as `place: before → after`; `absent` where one has none. */
export function differences(before: unknown, after: unknown, place = ''): readonly string[] {
  const [old, now] = [members(before), members(after)];
  if (old === undefined || now === undefined || Array.isArray(before) !== Array.isArray(after)) {
    const [from, to] = [before, after].map((value) => JSON.stringify(value) ?? 'absent');
    return from === to ? [] : [`${place}: ${from} → ${to}`];
  }
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names.flatMap((name) => differences(old[name], now[name], place === '' ? name : `${place} / ${name}`));
}

/** Returns the members of an object or a list; undefined for a plain value. */
function members(value: unknown): Members | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return value as Members;
  const names = value.map((one: unknown, at) => nameOf(one) ?? String(at));
  if (new Set(names).size < names.length) return { ...value };
  return { ...Object.fromEntries(names.map((name, at) => [name, value[at]])), order: names.join(', ') };
}

/** Returns the type and row of an event, and the id or name of anything else. */
function nameOf(value: unknown): string | undefined {
  const { id, name, type, data } = (value ?? {}) as Members;
  const row = (data as Members | undefined)?.id;
  if (typeof row === 'string') return `${String(type)} ${row}`;
  return [id, name, value].find((one) => typeof one === 'string');
}
