// The state of a Mac of stand-ins: files in the folder MAC_STAND_IN, which tests and programs share.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the place of what all accounts of a Mac share: the state of its first account. */
export function wholeMac({ MAC_STAND_IN, MAC_STAND_IN_SHARED = MAC_STAND_IN }) {
  return { MAC_STAND_IN: MAC_STAND_IN_SHARED };
}

export function hasFlag({ MAC_STAND_IN }, name) {
  return existsSync(join(MAC_STAND_IN, name));
}

export function clearFlag({ MAC_STAND_IN }, name) {
  rmSync(join(MAC_STAND_IN, name), { force: true });
}

export function readText({ MAC_STAND_IN }, name) {
  try {
    return readFileSync(join(MAC_STAND_IN, name), 'utf8');
  } catch {
    return '';
  }
}

export function readJson(environment, name, fallback) {
  const text = readText(environment, name);
  return text === '' ? fallback : JSON.parse(text);
}

export function writeJson({ MAC_STAND_IN }, name, value) {
  const path = join(MAC_STAND_IN, name);
  // launchd's stand-in is a separate process and may write the same file at the same time.
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(value));
  renameSync(draft, path);
}

/** Returns one of the values, chosen by the seed and by the number of earlier draws. */
export function draw(environment, values) {
  const { seed, count } = readJson(environment, 'draws.json', { seed: 1, count: 0 });
  writeJson(environment, 'draws.json', { seed, count: count + 1 });
  const bytes = createHash('sha256').update(`${seed} ${count}`).digest();
  return values[bytes.readUInt32BE(0) % values.length];
}

/**
 * Returns the content of a property list. Loaded on demand, because most programs read none and the library takes as
 * long to load as all the rest.
 */
export async function readPlist(file) {
  const { parse } = await import('plist');
  return parse(readFileSync(file, 'utf8'));
}
