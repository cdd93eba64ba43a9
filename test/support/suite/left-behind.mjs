// Finds what a run of the suite leaves on this machine: processes, and files, folders and sockets.
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';

/** Where a program writes that was started without the suite's TMPDIR. */
const SYSTEM_FOLDER = '/tmp';
/** Begins the name of every temporary file of the program and of its tests. */
const OURS = 'postern-';

/** Returns the names in the system's temporary folder that a run may not add to. */
export function namesInSystemFolder() {
  return readdirSync(SYSTEM_FOLDER).filter((name) => name.startsWith(OURS));
}

/** Ends and removes everything left in `folder` or beside it, and returns one line for each thing. */
export function clearLeftBehind(folder, namesBefore) {
  const processes = processesOf(folder);
  for (const { pid } of processes) process.kill(pid, 'SIGKILL');
  const inside = readdirSync(folder);
  rmSync(folder, { recursive: true, force: true });
  const beside = namesInSystemFolder().filter((name) => !namesBefore.includes(name) && !isBound(name));
  return [
    ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
    ...inside.map((name) => `${folder}/${name}`),
    ...beside.map((name) => `${SYSTEM_FOLDER}/${name}, written without the suite's TMPDIR`),
  ];
}

/** Processes that were started in the suite's folder, with its TMPDIR or with a path in it. Linux only. */
function processesOf(folder) {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || pid === process.ppid) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      const isOurs = [command, environment, readlinkSync(`/proc/${pid}/cwd`)].some((text) => text.includes(folder));
      return isOurs && !isWorker(pid) ? [{ pid, command }] : [];
    } catch {
      return []; // it ended meanwhile, or belongs to another user
    }
  });
}

/** Reports whether a process is a worker of Jest, which may still be ending. */
function isWorker(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(process.pid);
}

/** Reports whether a living process listens on this socket, as a demo beside the suite does. Linux only. */
function isBound(name) {
  return process.platform === 'linux' && readFileSync('/proc/net/unix', 'utf8').includes(`${SYSTEM_FOLDER}/${name}\n`);
}
