// The environment of a test file: after all hooks it removes what a failed test could not.
import { TestEnvironment } from 'jest-environment-node';

export default class SuiteEnvironment extends TestEnvironment {
  async handleTestEvent({ name }) {
    if (name !== 'run_finish') return;
    for (const cleanUp of (this.global.cleanUps ?? []).toReversed()) await cleanUp();
  }
}
