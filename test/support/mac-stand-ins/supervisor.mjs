// launchd's part for one job: starts its program, restarts it after an error, and keeps what `launchctl print` reports
// in a file.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { wholeMac, writeJson } from './state.mjs';

/**
 * `supervisor` is the process that does only this, or null inside a test. `onGone` is called once the job has been
 * stopped and its process has ended.
 */
export function supervise(plist, environment, supervisor = null, onGone = () => {}) {
  const file = join('jobs', `${plist.Label}.json`);
  const job = { pid: null, lastExitCode: null, supervisor };
  const save = () => writeJson(environment, file, { ...job, isLeaving, isGone });
  let isLeaving = false;
  let isGone = false;
  let child;
  let timer;

  function start() {
    clearTimeout(timer);
    const [program, ...args] = plist.ProgramArguments;
    const outputs = [openSync(plist.StandardOutPath, 'a'), openSync(plist.StandardErrorPath, 'a')];
    child = spawn(program, args, {
      cwd: plist.WorkingDirectory,
      stdio: ['ignore', ...outputs],
      env: {
        PATH: '/usr/bin:/bin:/usr/sbin:/sbin',
        HOME: environment.HOME,
        TMPDIR: environment.MAC_STAND_IN,
        MAC_STAND_IN: environment.MAC_STAND_IN,
        MAC_STAND_IN_SHARED: wholeMac(environment).MAC_STAND_IN,
        ...plist.EnvironmentVariables,
      },
    });
    for (const output of outputs) closeSync(output);
    job.pid = child.pid ?? null;
    save();
    child.on('error', () => ended(78));
    child.on('exit', (code) => ended(code ?? 128));
  }

  function ended(code) {
    job.pid = null;
    job.lastExitCode = code;
    if (isLeaving) return leave();
    save();
    // ThrottleInterval, shortened: these seconds are hundredths. SuccessfulExit=false: a program that exits with 0 is
    // not restarted.
    if (code !== 0) timer = setTimeout(start, plist.ThrottleInterval * 10);
  }

  function leave() {
    isGone = true;
    save();
    onGone();
  }

  start();
  return {
    /** SIGTERM, then SIGKILL after the job's time is over. */
    stop() {
      isLeaving = true;
      clearTimeout(timer);
      if (job.pid === null) return leave();
      save();
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), plist.ExitTimeOut * 100).unref();
    },
    restart() {
      if (job.pid === null) return start();
      child.removeAllListeners('exit');
      child.on('exit', start);
      child.kill('SIGKILL');
    },
    /** Ends like a Mac that is switched off. */
    kill() {
      clearTimeout(timer);
      child.removeAllListeners().on('error', () => {});
      child.kill('SIGKILL');
    },
  };
}
