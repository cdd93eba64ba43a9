// The environment of a test file. It has no context of its own: all files of a worker share its globals and the modules
// of src/, which are loaded once. After all hooks of a file it removes what a failed test could not.
export default class SuiteEnvironment {
  global = globalThis;
  /** Jest demands one. No test replaces modules. */
  moduleMocker = { restoreAllMocks() {} };
  #exit = process.exit;
  #console = globalThis.console;

  async setup() {}

  /** Undoes what Jest replaces for each file. */
  async teardown() {
    process.exit = this.#exit;
    globalThis.console = this.#console;
  }

  getVmContext() {
    return null;
  }

  async handleTestEvent({ name }) {
    if (name !== 'run_finish') return;
    const cleanUps = globalThis.cleanUps ?? [];
    globalThis.cleanUps = [];
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  }
}
