import { expect, test } from '@jest/globals';
import { sqliteMissing } from '../../src/core/runtime/sqlite.ts';

test('without SQLite, the hint names a newer Node first, and what a build needs where there are sources', () => {
  const { code, message, hint } = sqliteMissing(undefined, 'file:///home/me/postern/dist/src/core/runtime/sqlite.js');
  expect(code).toBe('sqlite_missing');
  expect(message).toContain(`Node ${process.versions.node} does not include SQLite`);
  expect(hint).toMatch(/^Install Node 22\.16 or newer\. .*C\+\+ compiler.*npm ci/);
});

test('an installation by npm, which has no sources, is not advised to build anything', () => {
  const { hint } = sqliteMissing(undefined, 'file:///usr/lib/node_modules/postern/dist/program/main.mjs');
  expect(hint).toBe('Install Node 22.16 or newer.');
});
