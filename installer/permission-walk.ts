import { isPosternError, type PosternClient } from '../src/client/postern-client.ts';
import type { PermissionReport } from '../src/core/model/ports/permissions-ports.ts';
import { pause } from '../src/core/runtime/clock.ts';
import { resetAutomation } from './grants.ts';
import type { Layout } from './install-layout.ts';
import type { Machine } from './machine.ts';
import type { InstallOptions } from './options.ts';

type Name = PermissionReport['name'];

interface Explanation {
  readonly title: string;
  readonly why: string;
  readonly steps: (layout: Layout) => readonly string[];
  readonly pane: string;
}

const PANE = 'x-apple.systempreferences:com.apple.preference.security';

const NAMES: readonly Name[] = ['full_disk_access', 'automation'];

const EXPLANATIONS: Readonly<Record<Name, Explanation>> = {
  full_disk_access: {
    title: 'Full Disk Access',
    why: 'macOS protects the folder of the Messages database. Without this permission, Postern cannot read any message.',
    steps: (layout) => [
      'System Settings opens at Privacy & Security > Full Disk Access.',
      'Switch on "Postern" in the list. If it is not there, click + and choose it,',
      `or drag it in from the Finder window that opens too: ${layout.app}`,
      'If it is on already, it belongs to an older copy: select it, click − and add it again with +.',
      "macOS asks for an administrator's password, because the switch holds for all accounts of this Mac.",
    ],
    pane: `${PANE}?Privacy_AllFiles`,
  },
  automation: {
    title: 'Automation of Messages',
    why: 'Postern sends by controlling Messages. Without this permission, it can read but not send.',
    steps: () => [
      'When macOS asks whether "Postern" may control "Messages", click Allow (or OK).',
      'The second sentence of that question, about documents and data, is the same for every app.',
      'If you refused earlier, switch on "Messages" below "Postern" in Privacy & Security > Automation.',
    ],
    pane: `${PANE}?Privacy_Automation`,
  },
};

/** Interval between two checks. Leaves most of the request limit (60 a minute by default) to the user's programs. */
const POLL_MS = 5_000;

/**
 * Makes the agent check its permissions and tells the user what to click, until the agent has both permissions or
 * `permissionsLimitMs` have passed. Returns the missing permissions. The agent itself must ask Messages: if this
 * installer asked, macOS would attribute the request to the terminal.
 */
export async function walkThroughPermissions(
  machine: Machine,
  layout: Layout,
  client: PosternClient,
  { permissionsLimitMs, confirm }: Pick<InstallOptions, 'permissionsLimitMs' | 'confirm'>,
): Promise<readonly Name[]> {
  const end = machine.clock.monotonic() + permissionsLimitMs;
  const guide = new Guide(machine, layout, confirm, permissionsLimitMs > 0);
  machine.stdout('Asking the agent which permissions it has. macOS may ask you something: look at the screen.');
  for (;;) {
    const pauseMs = await look(client, guide);
    const { missing } = guide;
    if (missing.length === 0 || machine.clock.monotonic() >= end) return missing;
    if (!(await guide.letAskAgain())) await pause(machine.clock, pauseMs);
  }
}

/** Checks both permissions once. Returns the milliseconds to wait before the next check. */
async function look(client: PosternClient, guide: Guide): Promise<number> {
  try {
    const { connected, message } = (await client.health()).backend;
    const state = connected ? 'granted' : 'denied';
    await guide.tell({ name: 'full_disk_access', state, detail: message ?? '' });
    // Checks Automation only after Full Disk Access is granted, because two dialogs at once would cover each other.
    if (!connected) return POLL_MS;
    const { permissions } = await client.checkPermissions();
    const automation = permissions.find(({ name }) => name === 'automation');
    if (automation) await guide.tell(automation);
    return POLL_MS;
  } catch (error) {
    // The agent is briefly unreachable after Full Disk Access is granted, because it restarts (decision C6).
    if (!isPosternError(error)) throw error;
    return error.retryAfterMs ?? POLL_MS;
  }
}

/** Tells the user what to do, each thing only once. */
class Guide {
  readonly #machine: Machine;
  readonly #layout: Layout;
  readonly #reports = new Map<Name, PermissionReport>();
  readonly #openedPanes = new Set<Name>();
  readonly #confirm: InstallOptions['confirm'];
  readonly #isWaiting: boolean;
  #wasReset = false;

  constructor(machine: Machine, layout: Layout, confirm: InstallOptions['confirm'], isWaiting: boolean) {
    this.#machine = machine;
    this.#layout = layout;
    this.#confirm = confirm;
    this.#isWaiting = isWaiting;
  }

  get missing(): readonly Name[] {
    return NAMES.filter((name) => this.#reports.get(name)?.state !== 'granted');
  }

  async tell(report: PermissionReport): Promise<void> {
    const { name, state, detail } = report;
    const before = this.#reports.get(name);
    this.#reports.set(name, report);
    if (state === 'granted') {
      if (before?.state !== 'granted') this.#machine.stdout(`✓ ${EXPLANATIONS[name].title}`);
      return;
    }
    if (before === undefined) this.#explain(name);
    // Leaves System Settings closed while macOS is asking, because its window would cover the question.
    if (state === 'denied' && report.reason !== 'no_dialog') await this.#openPane(name);
    if (detail !== '' && detail !== before?.detail) this.#machine.stdout(`  ${detail}`);
  }

  /**
   * Acts only if macOS refused Automation without a dialog, most often because of an earlier "Don't Allow". Offers once
   * to make macOS forget that answer, and returns true if the agent can ask again. Otherwise opens the switch in System
   * Settings, and returns false.
   */
  async letAskAgain(): Promise<boolean> {
    if (this.#reports.get('automation')?.reason !== 'no_dialog') return false;
    if (!this.#wasReset && (await this.#forgetAnswer())) return true;
    await this.#openPane('automation');
    return false;
  }

  async #forgetAnswer(): Promise<boolean> {
    this.#wasReset = true;
    this.#machine.stdout(
      '  macOS refused without asking you. It remembers a "Don\'t Allow", perhaps from an earlier installation.',
    );
    if (!(await this.#confirm('  Make macOS forget that answer (for Postern only) and ask again? [y/N] '))) {
      this.#machine.stdout('  Then macOS will not ask. In the window that opens, switch on Messages below Postern.');
      return false;
    }
    const failure = await resetAutomation(this.#machine, this.#layout);
    this.#machine.stdout(failure === null ? '  The agent asks again: look at the screen.' : `  ${failure}`);
    return failure === null;
  }

  #explain(name: Name): void {
    const { title, why, steps } = EXPLANATIONS[name];
    this.#machine.stdout('');
    this.#machine.stdout(`Missing: ${title}. ${why}`);
    for (const step of steps(this.#layout)) this.#machine.stdout(`  ${step}`);
    const next = this.#isWaiting
      ? 'Waiting for this permission. The installation then continues by itself.'
      : 'Grant it when you like: the agent notices.';
    this.#machine.stdout(`  ${next}`);
  }

  async #openPane(name: Name): Promise<void> {
    if (this.#openedPanes.has(name)) return;
    this.#openedPanes.add(name);
    await this.#machine.run('open', [EXPLANATIONS[name].pane]);
    if (name === 'full_disk_access') await this.#machine.run('open', ['-R', this.#layout.app]);
  }
}

/** Returns the line to print if these permissions are still missing when the waiting time ends. */
export function stillMissing(names: readonly Name[]): string {
  const titles = names.map((name) => EXPLANATIONS[name].title).join(' and ');
  return `Still missing: ${titles}. You can grant permissions at any time. The agent notices by itself.`;
}
