import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A path that does not exist: the folder is the suite's, and no test creates this name. */
export const ABSENT = join(tmpdir(), 'absent');

/**
 * The smallest environment for a program that a test starts. Without TMPDIR it would write outside the suite's folder.
 */
export const BARE_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: process.env.PATH ?? '', TMPDIR: tmpdir() };

/** Calls back after the hooks of the test file, to clean up what only a passing test stops and removes itself. */
export function whenFileEnds(cleanUp: () => unknown): void {
  const held = globalThis as { cleanUps?: (() => unknown)[] };
  held.cleanUps ??= [];
  held.cleanUps.push(cleanUp);
}

/** Creates a folder for one test file, which is removed at its end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  // Does not use afterAll, which is not called if every test is skipped.
  whenFileEnds(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
