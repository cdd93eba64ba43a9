import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** A folder of its own for one test file, removed when the file is done. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
