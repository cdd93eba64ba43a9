import { isPosternError, type PosternClient } from '../src/client/postern-client.ts';
import type { PermissionReport } from '../src/domain/ports/permissions.ts';
import type { Layout } from './layout.ts';
import { type Machine, pause } from './machine.ts';

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
    why: 'The Messages database is in a folder that macOS protects; without this Postern can read nothing.',
    steps: (layout) => [
      'System Settings opens at Privacy & Security > Full Disk Access.',
      'Switch on "Postern" in the list. If it is not there, click + and choose it,',
      `or drag it in from the Finder window that opens too: ${layout.app}`,
    ],
    pane: `${PANE}?Privacy_AllFiles`,
  },
  automation: {
    title: 'Automation of Messages',
    why: 'Postern sends by driving Messages; without this it can read but not send.',
    steps: () => [
      'When macOS asks whether "Postern" may control "Messages", click Allow (or OK).',
      'If you once said no: in Privacy & Security > Automation, switch on "Messages" below "Postern".',
    ],
    pane: `${PANE}?Privacy_Automation`,
  },
};

/** Never faster than the once a second that leaves the request limit (60 a minute) to the person's own programs. */
const POLL_MS = 5_000;
/** A little longer than the 600 s that the question waits for the person. */
const DIRECT_QUESTION_LIMIT_MS = 620_000;

/**
 * Has the agent look for its permissions until it has both, telling the person what to click, for at most
 * `limitMs`. Returns those still missing. The agent must look itself: macOS judges the program that asks.
 */
export async function walkThroughPermissions(
  machine: Machine,
  layout: Layout,
  client: PosternClient,
  limitMs: number,
): Promise<readonly Name[]> {
  const end = machine.clock.monotonic() + limitMs;
  const guide = new Guide(machine, layout);
  machine.stdout('Asking the agent which permissions it has. macOS may ask you something: look at the screen.');
  for (;;) {
    const pauseMs = await look(client, guide);
    const { missing } = guide;
    if (missing.length === 0 || machine.clock.monotonic() >= end) return missing;
    if (guide.canAskDirectly()) await guide.askDirectly();
    else await pause(machine.clock, pauseMs);
  }
}

/** One look at both permissions. Returns how long to wait before the next. */
async function look(client: PosternClient, guide: Guide): Promise<number> {
  try {
    const { connected, message } = (await client.health()).backend;
    const state = connected ? 'granted' : 'denied';
    await guide.tell({ name: 'full_disk_access', state, detail: message ?? '' });
    // Two questions at once would cover each other on the screen.
    if (!connected) return POLL_MS;
    const { permissions } = await client.checkPermissions();
    const automation = permissions.find(({ name }) => name === 'automation');
    if (automation) await guide.tell(automation);
    return POLL_MS;
  } catch (error) {
    // The agent cannot be reached for a moment after Full Disk Access was granted: it starts again (decision C6).
    if (!isPosternError(error)) throw error;
    return error.retryAfterMs ?? POLL_MS;
  }
}

/** What the person was told so far, so that nothing is said twice. */
class Guide {
  readonly #machine: Machine;
  readonly #layout: Layout;
  readonly #reports = new Map<Name, PermissionReport>();
  readonly #openedPanes = new Set<Name>();
  #askedDirectly = false;

  constructor(machine: Machine, layout: Layout) {
    this.#machine = machine;
    this.#layout = layout;
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
    // While macOS is asking, a window of System Settings would cover the question.
    if (state === 'denied' && report.reason !== 'no_dialog') await this.#openPane(name);
    if (detail !== '' && detail !== before?.detail) this.#machine.stdout(`  ${detail}`);
  }

  /** True when macOS refused without a dialog, which it does to some programs that the person did not start. */
  canAskDirectly(): boolean {
    return !this.#askedDirectly && this.#reports.get('automation')?.reason === 'no_dialog';
  }

  /** Starts the bundle's program from this terminal to put the question: in the person's session macOS shows it. */
  async askDirectly(): Promise<void> {
    this.#askedDirectly = true;
    const { executable, main } = this.#layout;
    this.#machine.stdout('  macOS refused without asking you. Asking again from this terminal: look at the screen.');
    const asked = await this.#machine.run(executable, [main, 'ask-automation'], {
      timeoutMs: DIRECT_QUESTION_LIMIT_MS,
    });
    this.#machine.stdout(
      asked.code === 0 ? '  Allowed. Checking with the agent.' : '  That did not help. The agent goes on asking.',
    );
  }

  #explain(name: Name): void {
    const { title, why, steps } = EXPLANATIONS[name];
    this.#machine.stdout('');
    this.#machine.stdout(`Missing: ${title}. ${why}`);
    for (const step of steps(this.#layout)) this.#machine.stdout(`  ${step}`);
    this.#machine.stdout('  Waiting; the installation goes on by itself.');
  }

  async #openPane(name: Name): Promise<void> {
    if (this.#openedPanes.has(name)) return;
    this.#openedPanes.add(name);
    await this.#machine.run('open', [EXPLANATIONS[name].pane]);
    if (name === 'full_disk_access') await this.#machine.run('open', ['-R', this.#layout.app]);
  }
}

/** What to say when the wait is over. */
export function stillMissing(names: readonly Name[]): string {
  const titles = names.map((name) => EXPLANATIONS[name].title).join(' and ');
  return `Still missing: ${titles}. Grant it whenever you like: the agent notices by itself.`;
}
