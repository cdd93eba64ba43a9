import { readFileSync } from 'node:fs';

/**
 * The releases with a known schema. The schemas of 10.13, 12, 13 and 26 are dumps. For 11, 14, 15 and 27, the nearest
 * dump is adapted in the columns that are known to differ. Those schema files name the sources. The schema of macOS 27
 * has not been seen on a Mac.
 */
export const MACOS_VERSIONS = ['27', '26', '15', '14', '13', '12', '11', '10.13'] as const;
export type MacosVersion = (typeof MACOS_VERSIONS)[number];

const BASE = /^-- @base (\S+)$/m;

/** Returns the schema of a release without its last section: triggers that call SQL functions of Apple's process. */
export function loadableSchema(version: MacosVersion): string {
  const schema = readFileSync(new URL(`./schemas/macos-${version}.sql`, import.meta.url), 'utf8');
  const [loadable = ''] = schema.split('-- @section triggers-needing-functions');
  const base = MACOS_VERSIONS.find((one) => one === BASE.exec(loadable)?.[1]);
  return base === undefined ? loadable : `${loadableSchema(base)}\n${loadable}`;
}

/**
 * Reports whether chat guids begin with `any;` and texts are only in attributedBody. Known for macOS 26, assumed for
 * 27.
 */
export function isSince26(version: MacosVersion): boolean {
  return version === '26' || version === '27';
}
