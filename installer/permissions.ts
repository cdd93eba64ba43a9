import type { PermissionReport } from '../src/domain/ports/permissions.ts';
import type { Gateway } from './gateway.ts';
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

const EXPLANATIONS: Readonly<Record<Name, Explanation>> = {
  full_disk_access: {
    title: 'Full Disk Access',
    why: 'The messages database lies in a folder that macOS guards; without this Postern can read nothing.',
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

/**
 * Has the agent look for its permissions until it has both, telling the person what to click, for at most
 * `limitMs`. Returns those still missing. The agent must look itself: macOS judges whoever asks.
 */
export async function walkThroughPermissions(
  machine: Machine,
  layout: Layout,
  gateway: Gateway,
  limitMs: number,
): Promise<readonly Name[]> {
  const granted = new Set<Name>();
  const explained = new Set<Name>();
  const names: readonly Name[] = ['full_disk_access', 'automation'];
  const end = machine.clock.monotonic() + limitMs;
  machine.say('Asking the agent which permissions it has. macOS may ask you something: look at the screen.');

  for (;;) {
    const reply = await gateway.checkPermissions();
    // Away: a granted Full Disk Access works for a new process only, so the agent is starting again (decision C6).
    if (reply.kind === 'answer') {
      for (const { name, state } of reply.body.permissions) {
        if (state === 'granted' && !granted.has(name)) {
          granted.add(name);
          machine.say(`✓ ${EXPLANATIONS[name].title}`);
        }
      }
    }
    const missing = names.filter((name) => !granted.has(name));
    if (missing.length === 0) return [];
    // One at a time: two panes at once would hide each other.
    const [next] = missing;
    if (reply.kind === 'answer' && next !== undefined && !explained.has(next)) {
      explained.add(next);
      await explain(machine, layout, next);
    }
    if (machine.clock.monotonic() >= end) {
      return missing;
    }
    await pause(machine.clock, reply.kind === 'busy' ? reply.retryAfterS * 1000 : POLL_MS);
  }
}

async function explain(machine: Machine, layout: Layout, name: Name): Promise<void> {
  const { title, why, steps, pane } = EXPLANATIONS[name];
  machine.say('');
  machine.say(`Missing: ${title}. ${why}`);
  for (const step of steps(layout)) machine.say(`  ${step}`);
  machine.say('  Waiting; this goes on by itself.');
  await machine.run('open', [pane]);
  if (name === 'full_disk_access') await machine.run('open', ['-R', layout.app]);
}

/** What to say when the wait is over. */
export function stillMissing(names: readonly Name[]): string {
  const titles = names.map((name) => EXPLANATIONS[name].title).join(' and ');
  return `Still missing: ${titles}. Grant it whenever you like: the agent notices by itself.`;
}
