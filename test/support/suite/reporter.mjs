// Reports as Jest does, and ends with the slowest tests, the skipped ones with their reasons, the counts, what the run
// left behind and, last, the failures.
import { relative } from 'node:path';
import { styleText } from 'node:util';
import { DefaultReporter, utils, VerboseReporter } from '@jest/reporters';
import { clearLeftBehind, namesInSystemFolder } from './left-behind.mjs';

const MOST_EXPENSIVE = 10;
const LONG_MS = 60_000;
/** A run with fewer test files than this is only a part of the suite. */
const WHOLE_SUITE = 100;
/** The end of a skipped test's name, as test/support/conditions.ts writes it. */
const REASON = / \(skipped: ([^()]+)\)/;

const Reporter = process.argv.includes('--verbose') ? VerboseReporter : DefaultReporter;

export default class SuiteReporter extends Reporter {
  #namesBefore = [];
  #isOneFile = false;
  #error;

  onRunStart(results, options) {
    this.#namesBefore = namesInSystemFolder();
    this.#isOneFile = results.numTotalTestSuites === 1;
    super.onRunStart(results, options);
  }

  /** The run fails if this returns an error. */
  getLastError() {
    return this.#error;
  }

  printTestFileFailureMessage(path, config, result) {
    if (!this.#isOneFile) super.printTestFileFailureMessage(path, config, result);
  }

  async onRunComplete(contexts, results) {
    super.onRunComplete(contexts, results);
    const left = await clearLeftBehind(process.env.TMPDIR, this.#namesBefore);
    if (left.length > 0) this.#error = new Error('The run left something behind.');

    const { rootDir, testNamePattern } = this._globalConfig;
    const tests = results.testResults
      .flatMap(({ testFilePath, testResults }) => testResults.map((test) => described(test, rootDir, testFilePath)))
      .toSorted((one, other) => other.ms - one.ms);
    if (results.numTotalTestSuites >= WHOLE_SUITE) {
      this.#list(`The ${MOST_EXPENSIVE} most expensive tests`, tests.slice(0, MOST_EXPENSIVE).map(withTime));
    }
    this.#list('Tests that took more than 60 s', tests.filter(({ ms }) => ms > LONG_MS).map(withTime));
    if (!testNamePattern)
      this.#list(
        'Skipped',
        tests
          .filter(({ isSkipped }) => isSkipped)
          .map(withReason)
          .toSorted(),
      );
    this.log(`\n${utils.getSummary(results)}`);
    this.#list('Left behind', left, 'red');
    const failed = results.testResults.filter(({ failureMessage }) => failureMessage);
    if (failed.length > 0) this.log(`\n${styled('Failed', 'red')}`);
    for (const { testFilePath, failureMessage } of failed) {
      this.log(`\n${relative(rootDir, testFilePath)}\n${failureMessage.trimEnd()}`);
    }
  }

  #list(title, lines, color = 'bold') {
    if (lines.length > 0) this.log(['', styled(title, color), ...lines.map((line) => `  ${line}`)].join('\n'));
  }
}

function described({ ancestorTitles, title, duration, status }, rootDir, path) {
  return {
    file: relative(`${rootDir}/test`, path),
    name: [...ancestorTitles, title].join(' › '),
    ms: duration ?? 0,
    isSkipped: status === 'pending' || status === 'todo',
  };
}

function withTime({ file, name, ms }) {
  return cut(`${(ms / 1000).toFixed(1).padStart(6)} s  ${file}  ${name}`);
}

function withReason({ file, name }) {
  const reason = REASON.exec(name)?.[1] ?? 'no reason given';
  return cut(`${reason}: ${file}  ${name.replace(REASON, '')}`);
}

/** Cuts a line of a table so that it fits one line of the terminal. */
function cut(line) {
  const width = (process.stderr.columns ?? 160) - 3;
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

function styled(text, color) {
  return process.stderr.isTTY ? styleText(['bold', color], text) : text;
}
