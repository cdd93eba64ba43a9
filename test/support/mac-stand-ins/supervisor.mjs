// launchd's part for one job: node supervisor.mjs PLIST. Ends when it gets SIGTERM and the job's process has ended.
import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'plist';
import { writeJson } from './state.mjs';

const plist = parse(readFileSync(process.argv[2], 'utf8'));
const file = join('jobs', `${plist.Label}.json`);
const job = { pid: null, lastExitCode: null, supervisor: process.pid };
const save = () => writeJson(process.env, file, { ...job, isLeaving, isGone });
let isLeaving = false;
let isGone = false;
let child;
let timer;

function start() {
  clearTimeout(timer);
  const [program, ...args] = plist.ProgramArguments;
  child = spawn(program, args, {
    cwd: plist.WorkingDirectory,
    stdio: ['ignore', openSync(plist.StandardOutPath, 'a'), openSync(plist.StandardErrorPath, 'a')],
    env: {
      PATH: '/usr/bin:/bin:/usr/sbin:/sbin',
      HOME: process.env.HOME,
      MAC_STAND_IN: process.env.MAC_STAND_IN,
      ...plist.EnvironmentVariables,
    },
  });
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
  // ThrottleInterval, in a hurry: these seconds are hundredths. SuccessfulExit=false: 0 is not started again.
  if (code !== 0) timer = setTimeout(start, plist.ThrottleInterval * 10);
}

function leave() {
  isGone = true;
  save();
  process.exit(0);
}

process.on('SIGTERM', () => {
  isLeaving = true;
  clearTimeout(timer);
  if (job.pid === null) return leave();
  save();
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), plist.ExitTimeOut * 100).unref();
});
process.on('SIGHUP', () => {
  if (job.pid === null) return start();
  child.removeAllListeners('exit');
  child.on('exit', start);
  child.kill('SIGKILL');
});
start();
