// Finds what a run of the suite leaves on this machine: processes, files, folders and sockets.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';

/** The folder that a program writes to if it was started without the suite's TMPDIR. */
const SYSTEM_FOLDER = '/tmp';
/** Prefix of every temporary file of the program and its tests. */
const OURS = 'postern-';
/** How often a process, or something outside the folder, is checked before it counts as left behind. */
const LOOKS = 3;
const BETWEEN_LOOKS_MS = 1000;

/** Returns the names in the system's temporary folder, to which a run may not add. */
export function namesInSystemFolder() {
  return readdirSync(SYSTEM_FOLDER).filter((name) => name.startsWith(OURS));
}

/** Ends and removes everything left in `folder` or outside it. Returns one line for each thing. */
export async function clearLeftBehind(folder, namesBefore) {
  let processes = processesOf(folder);
  // A process that a test file has just killed is not gone yet.
  for (let look = 1; look < LOOKS && processes.length > 0; look += 1) {
    await betweenLooks();
    processes = processesOf(folder);
  }
  for (const { pid } of processes) kill(pid);
  const inside = readdirSync(folder);
  // Tries again while a dying process still writes. A retry of `rmSync` would not look for new files.
  await rm(folder, { recursive: true, force: true, maxRetries: LOOKS, retryDelay: BETWEEN_LOOKS_MS });
  const beside = await abandoned(() => namesInSystemFolder().filter((name) => !namesBefore.includes(name)));
  return [
    ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
    ...inside.map((name) => `${folder}/${name}`),
    ...beside.map((name) => `${SYSTEM_FOLDER}/${name}, written without the suite's TMPDIR`),
  ];
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function betweenLooks() {
  return new Promise((resolve) => void setTimeout(resolve, BETWEEN_LOOKS_MS));
}

/** Returns the processes that were started in the suite's folder, with its TMPDIR or with a path in it. Linux only. */
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
      return []; // it has just ended, or belongs to another user
    }
  });
}

/** Reports whether a process is a worker of Jest, which may still be ending. */
function isWorker(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(process.pid);
}

/**
 * Returns the names that stay and that nobody uses. Another run, a demo or an installer outside the suite uses its own:
 * it listens on it, has it open, works in it, or removes it within seconds.
 */
async function abandoned(namesNow) {
  let names = namesNow();
  for (let look = 0; look < LOOKS && names.length > 0; look += 1) {
    if (look > 0) await betweenLooks();
    const uses = usesOfOthers();
    const now = namesNow();
    names = names.filter((name) => now.includes(name) && !uses.includes(`${SYSTEM_FOLDER}/${name}`));
  }
  return names;
}

/** Returns the paths that living processes listen on, were started with, work in or have open. Linux only. */
function usesOfOthers() {
  if (process.platform !== 'linux') return '';
  const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return [readFileSync('/proc/net/unix', 'utf8'), ...others.map(usesOf)].join('\n');
}

function usesOf(pid) {
  try {
    const started = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
    const open = readdirSync(`/proc/${pid}/fd`).map((descriptor) => target(`/proc/${pid}/fd/${descriptor}`));
    return [...started, target(`/proc/${pid}/cwd`), ...open].join('\n');
  } catch {
    return ''; // it ended meanwhile, or belongs to another user
  }
}

function target(link) {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // closed meanwhile
  }
}
