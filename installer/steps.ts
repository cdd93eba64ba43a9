import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { errorCode } from '../src/core/model/errors.ts';
import { writeWhole } from './staging.ts';

/** A change to the Mac that can be undone. */
export interface Step {
  /** Completes a sentence that begins with "could not", for example "put the app in place". */
  readonly name: string;
  run(): void | Promise<void>;
  /** Restores the state before `run`, even if `run` failed halfway. */
  undo(): void | Promise<void>;
}

export interface StepFailure {
  readonly error: unknown;
  /** The steps that were started, in reverse order: the failed one comes first. */
  readonly begun: readonly Step[];
}

/** Runs the steps in order until one fails. Returns null if all succeeded. */
export async function runSteps(steps: readonly Step[]): Promise<StepFailure | null> {
  const begun: Step[] = [];
  for (const step of steps) {
    begun.unshift(step);
    try {
      await step.run();
    } catch (error) {
      return { error, begun };
    }
  }
  return null;
}

export interface UndoFailure {
  readonly step: Step;
  readonly reason: string;
}

/** Undoes every step that had begun, even if some cannot be undone. Returns the failures. */
export async function undoSteps({ begun }: StepFailure): Promise<readonly UndoFailure[]> {
  const failures: UndoFailure[] = [];
  for (const step of begun) {
    try {
      await step.undo();
    } catch (error) {
      failures.push({ step, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return failures;
}

/**
 * Writes a file unless its content already matches, because macOS may announce a rewritten property list as a new
 * background item. Undoing restores the previous content. If there was no file, undoing leaves the new one, because
 * restarting the old version may need it.
 */
export function writeFileStep(path: string, content: string, mode: number): Step {
  const before = readIfPresent(path);
  return {
    name: `write ${basename(path)}`,
    run() {
      if (readIfPresent(path) !== content || modeOf(path) !== mode) writeWhole(path, content, mode);
    },
    undo() {
      if (before !== undefined && readIfPresent(path) !== before) writeWhole(path, before, mode);
    },
  };
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
