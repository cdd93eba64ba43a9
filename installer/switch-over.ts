import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, isAppError } from '../src/core/model/errors.ts';
import { registerBundle } from './grants.ts';
import type { Layout } from './install-layout.ts';
import type { Agent } from './launch-agent.ts';
import type { Launchd } from './launchd.ts';
import type { Machine } from './machine.ts';
import type { NewBundle, Release } from './release.ts';
import { runSteps, type Step, type StepFailure, type UndoFailure, undoSteps, writeFileStep } from './steps.ts';
import { currentVersion, switchVersion } from './versions.ts';

/**
 * Replaces the installation with the release and waits until the agent answers. If any step fails, undoes all of them,
 * so that the previous version runs again. A failed first installation stays in place instead, so that the user can
 * inspect and repair it.
 */
export async function switchOver(
  machine: Machine,
  layout: Layout,
  launchd: Launchd,
  release: Release,
  agent: Agent,
): Promise<void> {
  const before = currentVersion(layout);
  const job = await launchd.state();
  const wasLoaded = job.kind !== 'absent';
  const start = async (isOlder: boolean): Promise<void> => {
    await load(machine, layout, launchd);
    const trouble = await agent.healthTrouble(machine, launchd, { isOlder });
    if (trouble !== null) throw new AppError('agent_not_healthy', trouble);
  };

  const stop = wasLoaded ? stopAgent(machine, launchd, () => start(true)) : undefined;
  const failure = await runSteps([
    ...(stop === undefined ? [] : [stop]),
    copyState(layout),
    ...(release.bundle === undefined ? [] : [placeBundle(release.bundle)]),
    registerApp(machine, layout),
    switchVersion(layout, release.id),
    writeFileStep(layout.command, release.command, 0o755),
    writeFileStep(layout.plist, release.plist, 0o644),
    { name: 'start the new version', run: () => start(false), undo: () => launchd.bootout() },
  ]);
  if (failure === null) {
    removeStateCopy(layout);
    machine.stdout(
      before === release.id ? `Version ${release.id} is installed.` : `Switched to version ${release.id}.`,
    );
    return;
  }
  if (before === undefined) throw notStarted(failure.error, layout);
  throw await goBack(machine, layout, failure, before, stop);
}

function stopAgent(machine: Machine, launchd: Launchd, start: () => Promise<void>): Step {
  return {
    name: 'stop the running agent',
    async run() {
      // The agent stops before its bundle is replaced, because macOS looks up a running program's permissions by its
      // path.
      machine.stdout(
        'launchctl bootout: stopping the running agent, because launchd reads the new property list only when it loads the agent.',
      );
      await launchd.bootout();
    },
    undo: start,
  };
}

/**
 * Moves the new app into place. Undoing restores the previous app. If the previous app was missing or damaged, the new
 * one stays, because the old code needs an app.
 */
function placeBundle(bundle: NewBundle): Step {
  return {
    name: 'put the app in place',
    run: () => bundle.place(),
    undo() {
      if (bundle.replacesSound || !bundle.isPlaced()) bundle.putBack();
    },
  };
}

/**
 * Registers the app with LaunchServices. Must run before the agent is loaded, because Login Items take the agent's name
 * and icon from the registration.
 */
function registerApp(machine: Machine, layout: Layout): Step {
  return { name: 'register the app', run: () => registerBundle(machine, layout), undo() {} };
}

async function load(machine: Machine, layout: Layout, launchd: Launchd): Promise<void> {
  // launchd refuses to start a program whose log folder is missing (exit code 78).
  mkdirSync(layout.logs, { recursive: true, mode: 0o700 });
  machine.stdout('launchctl enable: allowing the agent to start, even if it was switched off before.');
  await launchd.enable();
  machine.stdout('launchctl bootstrap: loading the agent, which starts it now and at every login.');
  await launchd.bootstrap(layout.plist);
}

/** Returns the error of a failed first installation, which has no previous version to restore. */
function notStarted(error: unknown, layout: Layout): AppError {
  const code = isAppError(error) ? error.code : 'not_started';
  return told(error, layout, code, `Postern is not running. Its logs are in ${layout.logs}.`);
}

/**
 * Undoes the steps and reports the result. `stop` is the step that stopped the old agent; undefined if none was
 * running.
 */
async function goBack(
  machine: Machine,
  layout: Layout,
  failure: StepFailure,
  before: string,
  stop: Step | undefined,
): Promise<AppError> {
  const logged = logEnd(failure.error, layout);
  machine.stdout(`Going back to version ${before}, because the new version could not be installed or does not work.`);
  const problems = await undoSteps(failure);
  const state = stateAfter(before, stop, problems);
  if (problems.length === 0) return told(failure.error, layout, 'rolled_back', state, logged);
  const undone = problems.map(({ step, reason }) => `Could not undo "${step.name}": ${reason}`);
  const words = [state, ...undone, 'Run the installation again.'].join('\n  ');
  return told(failure.error, layout, 'roll_back_failed', words, logged);
}

function stateAfter(before: string, stop: Step | undefined, problems: readonly UndoFailure[]): string {
  if (stop === undefined) {
    return `Version ${before} was not running before the update, so it was not started again.`;
  }
  return problems.some(({ step }) => step === stop)
    ? `Postern is not running: version ${before} could not be started again.`
    : `Version ${before} runs again.`;
}

function told(error: unknown, layout: Layout, code: string, state: string, logged = logEnd(error, layout)): AppError {
  const message = error instanceof Error || isAppError(error) ? error.message : String(error);
  const advice = isAppError(error) && error.hint !== undefined ? `${error.hint} ` : '';
  return new AppError(code, [message, ...logged].join('\n  '), {
    hint: `${state} ${advice}Run: "${layout.command}" doctor`,
    cause: error,
  });
}

/**
 * Returns the last lines of the agent's log if `error` says that the agent does not answer. Returns none for any other
 * error, because the log would not explain it.
 */
function logEnd(error: unknown, layout: Layout): readonly string[] {
  if (!isAppError(error) || error.code !== 'agent_not_healthy') return [];
  const lines = layout.logFiles.flatMap(endOf);
  return lines.length === 0 ? [] : ["The end of the agent's log:", ...lines];
}

function endOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).slice(-4);
  } catch {
    return [];
  }
}

/**
 * The files that `copyState` copies. A third file, state.db-shm, needs no copy, because SQLite recreates it from these
 * two.
 */
const KEPT = ['state.db', 'state.db-wal'];

/**
 * Copies the state while no agent runs. Undoing restores the copy, because the old version cannot read a state.db that
 * the new one has changed. The old version then repeats the deliveries that the new version had already made.
 */
export function copyState(layout: Layout): Step {
  const copies = stateCopy(layout);
  /**
   * Names of the copied files. Undefined until all are copied. While it is undefined, undoing does nothing, because the
   * new version has not run yet.
   */
  let kept: readonly string[] | undefined;
  return {
    name: 'keep a copy of the state',
    run() {
      removeStateCopy(layout);
      mkdirSync(copies, { mode: 0o700 });
      const names = KEPT.filter((name) => existsSync(join(layout.support, name)));
      for (const name of names) copyFileSync(join(layout.support, name), join(copies, name));
      kept = names;
    },
    undo() {
      if (kept === undefined) return;
      const missing = kept.map((name) => join(copies, name)).find((path) => !existsSync(path));
      if (missing !== undefined) {
        throw new Error(`${missing} is missing, so the state stays as the new version left it.`);
      }
      for (const name of [...KEPT, 'state.db-shm']) rmSync(join(layout.support, name), { force: true });
      // Moves the copies back instead of copying them, so that a full disk cannot prevent the restore.
      for (const name of kept) renameSync(join(copies, name), join(layout.support, name));
      removeStateCopy(layout);
    },
  };
}

function removeStateCopy(layout: Layout): void {
  rmSync(stateCopy(layout), { recursive: true, force: true });
}

function stateCopy(layout: Layout): string {
  return join(layout.support, '.state-before');
}
