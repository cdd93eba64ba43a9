import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** Features of GNU make newer than 3.81, the version of macOS: a Makefile that uses them fails there or does less. */
const NEWER: Readonly<Record<string, RegExp>> = {
  'shell assignment (3.82 reads != as part of a name, 4.0 runs it)': /^\s*[\w.-]+\s*!=/m,
  'POSIX assignment ::= or :::= (4.0, 4.4)': /^\s*[\w.-]+\s*:{2,3}=/m,
  '.ONESHELL (3.82)': /^\.ONESHELL/m,
  '.RECIPEPREFIX (3.82)': /\.RECIPEPREFIX/,
  '.SHELLFLAGS (3.82)': /\.SHELLFLAGS/,
  '.EXTRA_PREREQS, .WAIT or .NOTINTERMEDIATE (4.3, 4.4)': /\.EXTRA_PREREQS|\.WAIT\b|\.NOTINTERMEDIATE/,
  '$(file …) (4.0)': /\$[({]file\b/,
  '$(guile …) (4.0)': /\$[({]guile\b/,
  '$(let …) or $(intcmp …) (4.4)': /\$[({](?:let|intcmp)\b/,
  'undefine (3.82)': /^\s*(?:override\s+)?undefine\b/m,
  'private (3.82)': /(?:^|:)\s*private\s+[\w.-]+\s*[:?+]?=/m,
  'load (4.0)': /^-?load\s/m,
  'grouped targets &: (4.3)': /&:/,
  'several lines of define with an operator (3.82)': /^define\s+\S+\s*[:?+]?=/m,
  'export of a target-specific variable with -': /^export\s+-/m,
};

const newerIn = (makefile: string): readonly string[] =>
  Object.entries(NEWER).flatMap(([name, pattern]) => (pattern.test(makefile) ? [name] : []));

test('the Makefile has nothing that the make of macOS, 3.81, does not know', () => {
  expect(newerIn(readFileSync(new URL('../../Makefile', import.meta.url), 'utf8'))).toEqual([]);
});

test.each([
  'VERSION != node -v',
  'A ::= b',
  '.ONESHELL:',
  '.RECIPEPREFIX = >',
  'all:\n\t$(file > x,y)',
  'undefine A',
  'all: private A = b',
  'a b &: c',
  'define x =\nendef',
  'export -n A',
])('the check would notice %j', (makefile) => {
  expect(newerIn(makefile)).toHaveLength(1);
});
