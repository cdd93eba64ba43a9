// launchctl and launchd as facts of macOS 26 describe them: verbs with their exit codes, a bootout that comes back
// before the job is gone, and restarts of what ends with an error. A supervisor process stands for launchd.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'plist';

const state = process.env.MAC_STAND_IN;
const jobs = join(state, 'jobs');
mkdirSync(jobs, { recursive: true });
const flag = (name) => existsSync(join(state, name));
const fileOf = (label) => join(jobs, `${label}.json`);
const load = (label) => {
  try {
    return JSON.parse(readFileSync(fileOf(label), 'utf8'));
  } catch {
    return undefined;
  }
};
const save = (label, job) => {
  writeFileSync(`${fileOf(label)}.new`, JSON.stringify(job));
  renameSync(`${fileOf(label)}.new`, fileOf(label));
};
const end = (code, text = '') => {
  if (text !== '') (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(code);
};

const [verb, ...rest] = process.argv.slice(2);
const label = () => rest.at(-1).split('/').at(-1);

if (verb !== 'supervise' && verb !== 'managername' && flag('no-session')) end(112, 'Could not find domain for gui');

switch (verb) {
  case 'managername':
    end(0, flag('no-session') ? 'Background' : 'Aqua');
    break;
  case 'enable':
    rmSync(join(state, `disabled-${label()}`), { force: true });
    end(0);
    break;
  case 'print-disabled':
    end(
      0,
      `disabled services = {\n\t"${'local.postern.agent'}" => ${flag('disabled-local.postern.agent') ? 'disabled' : 'enabled'}\n}`,
    );
    break;
  case 'print': {
    const job = load(label());
    if (job === undefined) end(113, `Could not find service "${label()}" in domain for user gui`);
    const running = job.pid === null ? '\tstate = spawn scheduled' : `\tstate = running\n\tpid = ${job.pid}`;
    end(0, `${rest[0]} = {\n${running}\n\tlast exit code = ${job.lastExitCode ?? '(never exited)'}\n}`);
    break;
  }
  case 'bootstrap': {
    const [, file] = rest;
    if (!existsSync(file)) end(5, 'Bootstrap failed: 5: Input/output error');
    if ((statSync(file).mode & 0o022) !== 0) end(122, 'Bootstrap failed: 122: Path had bad ownership/permissions');
    const plist = parse(readFileSync(file, 'utf8'));
    if (flag('login-items-off')) end(0);
    if (flag(`disabled-${plist.Label}`)) end(119, 'Bootstrap failed: 119: Service is disabled');
    if (load(plist.Label) !== undefined) end(5, 'Bootstrap failed: 5: Input/output error');
    if (flag('io-error-once')) {
      rmSync(join(state, 'io-error-once'));
      end(5, 'Bootstrap failed: 5: Input/output error');
    }
    const supervisor = spawn(process.execPath, [fileURLToPath(import.meta.url), 'supervise', file], {
      detached: true,
      stdio: 'ignore',
    });
    supervisor.unref();
    while (load(plist.Label) === undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    end(0);
    break;
  }
  case 'bootout': {
    const job = load(label());
    if (job === undefined) end(113, 'Boot-out failed: 113: Could not find specified service');
    process.kill(job.supervisor, 'SIGTERM');
    end(flag('bootout-in-progress') ? 37 : 0);
    break;
  }
  case 'kickstart': {
    const job = load(label());
    if (job === undefined) end(113, 'Could not find service');
    process.kill(job.supervisor, 'SIGHUP');
    end(0);
    break;
  }
  case 'supervise':
    supervise(parse(readFileSync(rest[0], 'utf8')));
    break;
  default:
    end(64, `Unrecognized subcommand: ${verb}`);
}

function supervise(plist) {
  const job = { pid: null, lastExitCode: null, supervisor: process.pid };
  let child;
  let isLeaving = false;
  let timer;
  const start = () => {
    clearTimeout(timer);
    const [program, ...args] = plist.ProgramArguments;
    child = spawn(program, args, {
      cwd: plist.WorkingDirectory,
      stdio: ['ignore', openSync(plist.StandardOutPath, 'a'), openSync(plist.StandardErrorPath, 'a')],
      env: {
        PATH: '/usr/bin:/bin:/usr/sbin:/sbin',
        HOME: process.env.HOME,
        MAC_STAND_IN: state,
        ...plist.EnvironmentVariables,
      },
    });
    job.pid = child.pid ?? null;
    save(plist.Label, job);
    child.on('exit', (code, signal) => {
      job.pid = null;
      job.lastExitCode = code ?? 128;
      if (isLeaving) {
        // Gone only some time after bootout has come back.
        setTimeout(() => {
          rmSync(fileOf(plist.Label), { force: true });
          process.exit(0);
        }, 200);
        return;
      }
      save(plist.Label, job);
      // ThrottleInterval, in a hurry: these seconds are hundredths.
      if (code !== 0 || signal !== null) timer = setTimeout(start, plist.ThrottleInterval * 10);
    });
  };
  process.on('SIGTERM', () => {
    isLeaving = true;
    clearTimeout(timer);
    if (job.pid === null) {
      rmSync(fileOf(plist.Label), { force: true });
      process.exit(0);
    }
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), plist.ExitTimeOut * 100).unref();
  });
  process.on('SIGHUP', () => {
    if (job.pid === null) start();
    else {
      child.removeAllListeners('exit');
      child.on('exit', start);
      child.kill('SIGKILL');
    }
  });
  start();
}
