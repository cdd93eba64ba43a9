// Runs once after all tests: fails when they left processes, and with them ports, or folders behind.
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';

export default function end() {
  const folder = process.env.TMPDIR;
  const processes = processesOf(folder);
  for (const { pid } of processes) process.kill(pid, 'SIGKILL');
  const files = readdirSync(folder);
  rmSync(folder, { recursive: true, force: true });
  const left = [
    ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
    ...files.map((name) => `folder ${name}`),
  ];
  if (left.length > 0) throw new Error(`The tests left behind:\n  ${left.join('\n  ')}`);
}

/** Processes that were started in the suite's folder or with a path of it. Only Linux tells. */
function processesOf(folder) {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || pid === process.ppid) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').replace(/(?:^|\0)TMPDIR=[^\0]*/, '');
      const isOurs = [command, environment, readlinkSync(`/proc/${pid}/cwd`)].some((text) => text.includes(folder));
      return isOurs && !isWorker(pid) ? [{ pid, command }] : [];
    } catch {
      return []; // it ended meanwhile, or belongs to another user
    }
  });
}

/** Jest's own workers end after this. */
function isWorker(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(process.pid);
}
