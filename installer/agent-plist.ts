import { build, type PlistValue, parse } from 'plist';
import type { Layout } from './layout.ts';

/**
 * Builds the agent's property list from the template and this person's paths. Paths are set on the parsed template
 * and serialized by the library, so that no user name can break out of its string.
 */
export function agentPlist(template: string, layout: Layout): string {
  const values: Readonly<Record<string, string>> = {
    executable: layout.executable,
    main: layout.main,
    support: layout.support,
    log: layout.logFiles[0],
    errorLog: layout.logFiles[1],
  };
  return build(filled(parse(template), values));
}

function filled(value: PlistValue, values: Readonly<Record<string, string>>): PlistValue {
  if (typeof value === 'string') return values[/^\{\{(\w+)\}\}$/.exec(value)?.[1] ?? ''] ?? value;
  if (Array.isArray(value)) return value.map((item) => filled(item, values));
  if (typeof value !== 'object' || value === null || !isDictionary(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, values)]));
}

function isDictionary(value: object): value is { [key: string]: PlistValue } {
  return Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;
}
