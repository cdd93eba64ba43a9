import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A path where nothing is: the folder is the suite's, and no test creates this name in it. */
export const ABSENT = join(tmpdir(), 'absent');

/** The least environment of a program that a test starts. Without TMPDIR it would write beside the suite's folder. */
export const BARE_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: process.env.PATH ?? '', TMPDIR: tmpdir() };

/** Calls back when the test file is done, after its hooks: for what only a test that passes stops and removes itself. */
export function whenFileEnds(cleanUp: () => unknown): void {
  const held = globalThis as { cleanUps?: (() => unknown)[] };
  held.cleanUps ??= [];
  held.cleanUps.push(cleanUp);
}

/** A folder of its own for one test file, removed when the file is done. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  // Not afterAll, which is not called where every test is skipped.
  whenFileEnds(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
