import { isoSecond } from '../model/iso-second.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { MessagesAnswer, PermissionReport, Permissions } from '../model/ports/permissions-ports.ts';
import { askAutomation, asking, grantedControl, refusedControl } from './automation.ts';

/** How long `automation` waits for the user's answer. Shorter than the 30 s that a request may take (decision E7). */
const ANSWER_WITHIN_MS = 20_000;

/** The functions of node-mac-permissions that Postern uses. */
export interface NativePermissions {
  getAuthStatus(type: 'full-disk-access'): string;
}

export interface PermissionParts {
  /** The platform's name in Node: `darwin` on a Mac. */
  readonly platform: string;
  readonly osascriptPath: string;
  readonly clock: Clock;
  /** Reports what the latest attempt to open chat.db showed about Full Disk Access; undefined if it showed nothing. */
  readonly chatDbAccess?: () => 'granted' | 'denied' | undefined;
  /** Loads node-mac-permissions, which is installed only on macOS. */
  readonly loadNative?: () => Promise<{ readonly default: NativePermissions }>;
}

/**
 * The two permissions that the service needs on macOS, Full Disk Access and Automation. macOS asks the user to grant
 * them to this process.
 */
export class MacPermissions implements Permissions {
  readonly #parts: PermissionParts;
  readonly #stop = new AbortController();
  readonly #known = new Map<PermissionReport['name'], PermissionReport>();
  /** The running request to control Messages. Callers share it, because a second request would show a second dialog. */
  #question: Promise<PermissionReport> | undefined;
  /** True once the user has refused in a dialog that this process caused. */
  #wasAsked = false;
  /** True if the permission was granted, and macOS has refused a send since then. */
  #wasTakenBack = false;
  #answer: MessagesAnswer | undefined;

  constructor(parts: PermissionParts) {
    this.#parts = parts;
  }

  get known(): readonly PermissionReport[] {
    // The order is fixed, whichever permission was checked first.
    return (['full_disk_access', 'automation'] as const).flatMap((name) => this.#known.get(name) ?? []);
  }

  get answer(): MessagesAnswer | undefined {
    return this.#answer;
  }

  /** Records how long Messages took to answer a script, in milliseconds. An answer means that control is allowed. */
  noteAnswer(tookMs: number): void {
    const checkedAt = isoSecond(this.#parts.clock.now());
    this.#answer = { answer_ms: Math.round(tookMs), checked_at: checkedAt };
    if (this.#wasTakenBack) this.#keep(grantedControl());
  }

  /** Records that macOS refused a send. */
  noteRefusal(): void {
    if (this.#known.get('automation')?.state !== 'granted') return;
    this.#keep(refusedControl());
    this.#wasTakenBack = true;
  }

  /**
   * Reports whether opening chat.db succeeded or was denied. If neither is known, asks the native module. Its answer is
   * only a hint, because the module probes other files.
   */
  async fullDiskAccess(): Promise<PermissionReport> {
    const state = this.#parts.chatDbAccess?.() ?? (await nativeState(this.#parts)) ?? 'unknown';
    return this.#keep(diskReport(state));
  }

  /**
   * Asks Messages for a harmless answer, so that macOS prompts the user if necessary. Joins a request that is already
   * running. Returns the result, or after 20 s a report with the reason `asking`.
   */
  async automation(): Promise<PermissionReport> {
    this.#question ??= this.#ask();
    const { clock } = this.#parts;
    let cancel = (): void => {};
    const inTime = new Promise<PermissionReport>((resolve) => {
      cancel = clock.after(ANSWER_WITHIN_MS, () => resolve(this.#keep(asking())));
    });
    const report = await Promise.race([this.#question, inTime]);
    cancel();
    return report;
  }

  /**
   * Reports whether macOS is prompting the user. Nothing can be sent until the user answers. Unless the permission is
   * known to be granted, or was granted and taken back, calls `automation` first: its prompt stays for a long time, but
   * macOS would remove the prompt of a send script after 25 s.
   */
  async isAsking(): Promise<boolean> {
    const known = this.#known.get('automation');
    if (known?.state === 'granted' || this.#wasTakenBack) return false;
    if (this.#question !== undefined && known?.reason === 'asking') return true;
    const { state, reason } = await this.automation();
    return reason === 'asking' || (state !== 'granted' && this.#stop.signal.aborted);
  }

  /** Ends the running request. macOS then removes its dialog. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#question;
  }

  async #ask(): Promise<PermissionReport> {
    const { osascriptPath, clock } = this.#parts;
    // Records the answer time only if the permission was granted before. Otherwise the time may include a person
    // reading the dialog.
    const wasGranted = this.#known.get('automation')?.state === 'granted';
    const report = await askAutomation({
      osascriptPath,
      clock,
      signal: this.#stop.signal,
      wasAsked: this.#wasAsked,
      ...(wasGranted && { onAnswer: (tookMs: number) => this.noteAnswer(tookMs) }),
    });
    this.#question = undefined;
    if (report.reason === 'refused') this.#wasAsked = true;
    return this.#keep(report);
  }

  #keep(report: PermissionReport): PermissionReport {
    if (report.name === 'automation') this.#wasTakenBack = false;
    this.#known.set(report.name, report);
    return report;
  }
}

async function nativeState({
  platform,
  loadNative = () => import('node-mac-permissions'),
}: PermissionParts): Promise<PermissionReport['state'] | undefined> {
  if (platform !== 'darwin') return undefined;
  try {
    const status = (await loadNative()).default.getAuthStatus('full-disk-access');
    if (status === 'authorized') return 'granted';
    return status === 'denied' || status === 'restricted' ? 'denied' : undefined;
  } catch {
    // The module is optional: it may be missing, or built for another version of Node.
    return undefined;
  }
}

function diskReport(state: PermissionReport['state']): PermissionReport {
  const details = {
    granted: 'Postern can read the messages database.',
    denied:
      'Postern cannot read the messages database. In System Settings, under Privacy & Security > Full Disk Access, switch on Postern.',
    unknown: 'It is unknown whether Postern can read the messages database.',
  } as const;
  return { name: 'full_disk_access', state, detail: details[state] };
}
