export default {
  testEnvironment: '<rootDir>/test/support/suite/environment.mjs',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testRunner: '<rootDir>/test/support/suite/framework.mjs',
  transform: {},
  globalSetup: '<rootDir>/test/support/suite/start.mjs',
  reporters: ['default', '<rootDir>/test/support/suite/reporter.mjs'],
  // For what hangs, and for nothing else: on a machine with ten times the load everything takes ten times as long.
  testTimeout: 120_000,
  // On a busy machine a worker that holds nothing any more needs longer to end than the half second that Jest gives it.
  workerGracefulExitTimeout: 10_000,
  // The tests wait a third of their time, so four of them keep two cores busy.
  maxWorkers: 4,
};
