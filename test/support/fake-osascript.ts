import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What one run does after recording its call. */
export interface Step {
  readonly exit?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Runs until it is killed, with a child process that does the same. */
  readonly hang?: boolean;
  readonly signal?: string;
  /** Ends only once this file exists. */
  readonly waitsForFile?: string;
}

export interface RecordedRun {
  readonly pid: number;
  readonly childPid?: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdinIsEmpty: boolean;
}

/** An executable that follows a plan, one step per run, and records its calls. */
export class FakeExecutable {
  readonly folder: string;
  readonly path: string;
  readonly #records: string;
  readonly #steps: string;

  /** Creates the executable in a new folder below `parent`, unless `folder` names another. */
  constructor(parent: string, name = 'osascript', folder = mkdtempSync(join(parent, 'bin-'))) {
    this.folder = folder;
    this.path = join(folder, name);
    this.#records = `${this.path}.runs`;
    this.#steps = `${this.path}.steps`;
    this.plan();
    writeFileSync(this.path, `#!${process.execPath}\n${PROGRAM}`);
    chmodSync(this.path, 0o755);
  }

  /** Sets the steps of the coming runs; after the last one every run succeeds. */
  plan(...steps: readonly Step[]): void {
    writeFileSync(this.#steps, JSON.stringify(steps));
  }

  runs(): readonly RecordedRun[] {
    if (!existsSync(this.#records)) return [];
    const lines = readFileSync(this.#records, 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line) as RecordedRun);
  }
}

const PROGRAM = `
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
const { spawn } = require('node:child_process');
const steps = JSON.parse(readFileSync(__filename + '.steps', 'utf8'));
const step = steps.shift() ?? {};
writeFileSync(__filename + '.steps', JSON.stringify(steps));
const child = step.hang ? spawn('/bin/sleep', ['600'], { stdio: 'inherit' }) : undefined;
appendFileSync(__filename + '.runs', JSON.stringify({
  pid: process.pid, childPid: child?.pid, argv: process.argv.slice(2), env: process.env,
  stdinIsEmpty: readFileSync(0).length === 0,
}) + '\\n');
if (step.hang) setInterval(() => {}, 1000);
else if (step.signal) process.kill(process.pid, step.signal);
else if (step.waitsForFile) setInterval(() => existsSync(step.waitsForFile) && end(), 5);
else end();
function end() {
  process.stdout.write(step.stdout ?? '', () =>
  process.stderr.write(step.stderr ?? '', () => process.exit(step.exit ?? 0)));
}
`;
