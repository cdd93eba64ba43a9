// launchctl and launchd: Darwin's exit codes, drawn by the seed where macOS gives more than one, a bootout that returns
// before the job is gone, and restarts of programs that end with an error. supervisor.mjs does launchd's work.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clearFlag, draw, hasFlag, readJson, readPlist, writeJson } from './state.mjs';
import { supervise } from './supervisor.mjs';

const SUPERVISOR = fileURLToPath(new URL('./supervisor-process.mjs', import.meta.url));
/** Jobs that this process supervises itself, by the Mac's folder: a separate supervisor would be one more Node. */
const supervised = new Map();
const VERBS = { bootout, bootstrap, enable, kickstart, managername, print, 'print-disabled': printDisabled };

/** `isProgram`: called as a separate program, which does not stay to supervise what it started. */
export async function launchctl([verb, ...rest], environment, isProgram) {
  const run = VERBS[verb];
  if (run === undefined) return { code: 64, stderr: `Unrecognized subcommand: ${verb}` };
  if (hasFlag(environment, 'no-session') && verb !== 'managername') {
    // Without a login at the screen either code occurs (112 was measured on macOS 26.5 by rundesk).
    const code = draw(environment, [112, 125]);
    return {
      code,
      stderr: code === 112 ? 'Could not find domain for gui' : 'Domain does not support specified action',
    };
  }
  return run(rest, environment, isProgram);
}

const labelOf = (target) => target.split('/')[2];
const fileOf = (label) => join('jobs', `${label}.json`);
const lingeringOf = (label) => join('jobs', `${label}.lingers`);

/**
 * Returns the job as `launchctl print` sees it. A job that was booted out stays visible for some time after its process
 * has ended.
 */
function jobOf(environment, label) {
  const job = readJson(environment, fileOf(label), undefined);
  if (!job?.isGone) return job;
  const lingers = readJson(environment, lingeringOf(label), 0);
  if (lingers > 0) {
    writeJson(environment, lingeringOf(label), lingers - 1);
    return job;
  }
  clearFlag(environment, fileOf(label));
  clearFlag(environment, lingeringOf(label));
  return undefined;
}

function managername(_, environment) {
  return { code: 0, stdout: hasFlag(environment, 'no-session') ? 'Background' : 'Aqua' };
}

function enable([target], environment) {
  clearFlag(environment, `disabled-${labelOf(target)}`);
  return { code: 0 };
}

function printDisabled(_, environment) {
  const label = 'local.postern.agent';
  const state = hasFlag(environment, `disabled-${label}`) ? 'disabled' : 'enabled';
  return { code: 0, stdout: `disabled services = {\n\t"${label}" => ${state}\n}` };
}

function print([target], environment) {
  const label = labelOf(target);
  if (label === undefined) return { code: 0, stdout: `${target} = {\n\ttype = user login\n}` };
  const job = jobOf(environment, label);
  if (job === undefined) return { code: 113, stderr: `Could not find service "${label}" in domain for user gui` };
  const running = job.pid === null ? '\tstate = spawn scheduled' : `\tstate = running\n\tpid = ${job.pid}`;
  // Some of the other lines that macOS 13 to 26 print (from launchctl transcripts in openclaw #34089, rundesk).
  const more = [
    `program = ${environment.HOME}/Applications/Postern.app/Contents/MacOS/Postern`,
    `path = ${environment.HOME}/Library/LaunchAgents/${label}.plist`,
    'minimum runtime = 10',
    'exit timeout = 20',
    'runs = 1',
    'immediate reason = speculative',
    'spawn type = interactive (4)',
    'properties = keepalive | runatload | inferred program',
  ].join('\n\t');
  return {
    code: 0,
    stdout: `${target} = {\n${running}\n\t${more}\n\tlast exit code = ${job.lastExitCode ?? '(never exited)'}\n}`,
  };
}

async function bootstrap([, file], environment, isProgram) {
  const failed = (code, words) => ({ code, stderr: `Bootstrap failed: ${code}: ${words}` });
  if (!existsSync(file)) return failed(5, 'Input/output error');
  if ((statSync(file).mode & 0o022) !== 0) return failed(122, 'Path had bad ownership/permissions');
  const plist = await readPlist(file);
  const label = plist.Label;
  if (hasFlag(environment, 'login-items-off')) return { code: 0 };
  if (hasFlag(environment, `disabled-${label}`)) return failed(119, 'Service is disabled');
  if (hasFlag(environment, 'quarantine')) return failed(155, 'Path is quarantined');
  // Codes 5, 17 and 37: the job is already loaded or still stopping (measured on macOS 26.5).
  if (readJson(environment, fileOf(label), undefined) !== undefined) {
    return draw(environment, [
      failed(5, 'Input/output error'),
      failed(17, 'File exists'),
      failed(37, 'Operation already in progress'),
    ]);
  }
  // The race with a bootout that has not quite ended, although print no longer finds the job.
  if (hasFlag(environment, 'bootout-race')) {
    clearFlag(environment, 'bootout-race');
    return failed(5, 'Input/output error');
  }
  mkdirSync(join(environment.MAC_STAND_IN, 'jobs'), { recursive: true });
  if (isProgram) await superviseApart(plist, environment);
  else supervised.set(environment.MAC_STAND_IN, supervise(plist, environment));
  return draw(environment, [{ code: 0 }, { code: 0 }, failed(36, 'Operation now in progress')]);
}

async function superviseApart(plist, environment) {
  const options = { detached: true, stdio: 'ignore', env: environment };
  spawn(process.execPath, [SUPERVISOR, JSON.stringify(plist)], options).unref();
  while (readJson(environment, fileOf(plist.Label), undefined) === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Ends the jobs that this process started on that Mac. */
export function switchOff(environment) {
  supervised.get(environment.MAC_STAND_IN)?.kill();
  supervised.delete(environment.MAC_STAND_IN);
}

/** Signals a separate supervisor. */
function ask(environment, { supervisor }, verb, signal) {
  if (supervisor !== null) process.kill(supervisor, signal);
  else supervised.get(environment.MAC_STAND_IN)[verb]();
}

function bootout([target], environment) {
  const label = labelOf(target);
  const failed = (code, words) => ({ code, stderr: `Boot-out failed: ${code}: ${words}` });
  const job = jobOf(environment, label);
  if (job === undefined) {
    return draw(environment, [
      failed(113, 'Could not find specified service'),
      failed(3, 'No such process'),
      failed(5, 'Input/output error'),
    ]);
  }
  if (hasFlag(environment, 'never-stops')) return failed(36, 'Operation now in progress');
  if (job.isGone) return failed(37, 'Operation already in progress');
  writeJson(environment, lingeringOf(label), draw(environment, [0, 1, 3]));
  writeJson(environment, fileOf(label), { ...job, isLeaving: true });
  if (draw(environment, [true, false, false])) writeFlag(environment, 'bootout-race');
  ask(environment, job, 'stop', 'SIGTERM');
  // 36 is the usual answer since 10.15 while the job is still stopping, and the job does stop (osquery/osquery #5698).
  return draw(environment, [
    failed(36, 'Operation now in progress'),
    failed(36, 'Operation now in progress'),
    failed(37, 'Operation already in progress'),
    { code: 0 },
  ]);
}

function writeFlag(environment, name) {
  writeJson(environment, name, true);
}

function kickstart(args, environment) {
  const job = jobOf(environment, labelOf(args.at(-1)));
  if (job === undefined) return { code: 113, stderr: 'Could not find service' };
  ask(environment, job, 'restart', 'SIGHUP');
  return draw(environment, [{ code: 0 }, { code: 37, stderr: 'Operation already in progress' }]);
}
