import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../domain/ports/host.ts';
import type { PermissionReport, Permissions } from '../domain/ports/permissions.ts';
import { scriptErrorNumber } from '../domain/script-error.ts';

/** Longer than the script's own 15 s, shorter than the 30 s a request may take (decision E7). */
const PROBE_LIMIT_MS = 20_000;
const SCRIPT = fileURLToPath(new URL('./automation.applescript', import.meta.url));

/** What is used of node-mac-permissions. */
export interface NativePermissions {
  getAuthStatus(type: 'full-disk-access'): string;
}

export interface PermissionOptions {
  /** The name Node gives this platform: `darwin` on a Mac. */
  readonly platform: string;
  readonly osascriptPath: string;
  readonly clock: Clock;
  /** What SQLite said of chat.db when last asked; undefined when it says nothing about the permission. */
  readonly chatDbAccess?: () => 'granted' | 'denied' | undefined;
  /** node-mac-permissions, which is installed on macOS only. */
  readonly loadNative?: () => Promise<{ readonly default: NativePermissions }>;
}

/** The two permissions the service needs on macOS, asked about in this process's own name. */
export function macPermissions(options: PermissionOptions): Permissions {
  return {
    fullDiskAccess: async () => diskReport((await nativeState(options)) ?? options.chatDbAccess?.() ?? 'unknown'),
    automation: () => probeAutomation(options),
  };
}

async function nativeState({
  platform,
  loadNative = () => import('node-mac-permissions'),
}: PermissionOptions): Promise<PermissionReport['state'] | undefined> {
  if (platform !== 'darwin') return undefined;
  try {
    const status = (await loadNative()).default.getAuthStatus('full-disk-access');
    if (status === 'authorized') return 'granted';
    return status === 'denied' || status === 'restricted' ? 'denied' : undefined;
  } catch {
    // Optional: not installed, or built for another Node.
    return undefined;
  }
}

function diskReport(state: PermissionReport['state']): PermissionReport {
  const details = {
    granted: 'The messages database may be read.',
    denied:
      'The messages database may not be read. In System Settings, under Privacy & Security > Full Disk Access, switch on Postern.',
    unknown: 'It cannot be told whether the messages database may be read.',
  } as const;
  return { name: 'full_disk_access', state, detail: details[state] };
}

/** Never takes longer than its limit: a question of macOS that nobody answers would block osascript for ever. */
function probeAutomation({ osascriptPath, clock }: PermissionOptions): Promise<PermissionReport> {
  const stop = new AbortController();
  const cancelLimit = clock.after(PROBE_LIMIT_MS, () => stop.abort());
  const bounds = {
    env: { LANG: 'en_US.UTF-8' },
    signal: stop.signal,
    killSignal: 'SIGKILL',
    maxBuffer: 65_536,
  } as const;
  return new Promise((resolve) => {
    const child = execFile(osascriptPath, [SCRIPT], bounds, (error, _stdout, stderr) => {
      cancelLimit();
      if (error === null) resolve(automationReport('granted', 'Messages may be controlled.'));
      else if (stop.signal.aborted) resolve(automationReport('unknown', NO_ANSWER));
      else if (typeof error.code === 'string')
        resolve(automationReport('unknown', `osascript could not be run (${error.code}).`));
      else resolve(refusal(scriptErrorNumber(stderr)));
    });
    child.stdin?.end();
  });
}

const NO_ANSWER =
  'Messages did not answer in time. macOS may be asking on the screen whether Postern may control Messages.';

function refusal(number: number | null): PermissionReport {
  switch (number) {
    case -1743:
      return automationReport(
        'denied',
        'Messages may not be controlled. In System Settings, under Privacy & Security > Automation, switch on Messages below Postern.',
      );
    case -1744:
      return automationReport('denied', 'macOS has not asked yet whether Postern may control Messages.');
    case -600:
      return automationReport('unknown', 'Messages is not running. Open it, then ask again.');
    case -1712:
      return automationReport('unknown', NO_ANSWER);
    default:
      return automationReport('unknown', `Messages could not be asked${number === null ? '' : ` (error ${number})`}.`);
  }
}

function automationReport(state: PermissionReport['state'], detail: string): PermissionReport {
  return { name: 'automation', state, detail };
}
