import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';

// On macOS the temporary folder is a link into /private, and tests compare paths. Workers inherit this.
process.env.TMPDIR = realpathSync(tmpdir());

export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'nodenext' } },
    ],
  },
  globalSetup: '<rootDir>/test/support/suite/start.mjs',
  globalTeardown: '<rootDir>/test/support/suite/end.mjs',
  testTimeout: 30_000,
  maxWorkers: 2,
};
