// Adds to Jest's report the skipped tests with their reasons, and what the run left behind.
import { relative } from 'node:path';
import { clearLeftBehind, namesInSystemFolder } from './left-behind.mjs';

/** The end of a skipped test's name, as test/support/conditions.ts writes it. */
const REASON = / \(skipped: ([^()]+)\)/;

export default class SuiteReporter {
  #config;
  #namesBefore = [];
  #error;

  constructor(config) {
    this.#config = config;
  }

  onRunStart() {
    this.#namesBefore = namesInSystemFolder();
  }

  /** The run fails if this returns an error. */
  getLastError() {
    return this.#error;
  }

  async onRunComplete(_contexts, { testResults }) {
    const { rootDir, testNamePattern } = this.#config;
    if (!testNamePattern) {
      const skipped = testResults.flatMap(({ testFilePath, testResults: tests }) =>
        tests
          .filter(({ status }) => status === 'pending' || status === 'todo')
          .map((test) => withReason(relative(`${rootDir}/test`, testFilePath), test.fullName)),
      );
      list('Skipped', skipped.toSorted());
    }
    const left = await clearLeftBehind(process.env.TMPDIR, this.#namesBefore);
    if (left.length > 0) this.#error = new Error('The run left something behind.');
    list('Left behind', left);
  }
}

function list(title, lines) {
  if (lines.length > 0) process.stderr.write(`\n${[title, ...lines].join('\n  ')}\n`);
}

function withReason(file, name) {
  const reason = REASON.exec(name)?.[1] ?? 'no reason given';
  return `${reason}: ${file}  ${name.replace(REASON, '')}`;
}
