import type { Chance } from '../../../src/features/simulator/chatter.ts';

/** What Messages can do to chat.db between two steps of the service. */
const COMMITS = [
  'insert',
  'insertOwn',
  'insertLate',
  'react',
  'complete',
  'edit',
  'unsend',
  'read',
  'delivered',
  'failed',
  'delete',
  'restore',
  'remove',
  'attach',
  'flip',
  'flood',
  'fill',
] as const;
export type CommitName = (typeof COMMITS)[number];

/** Other things that can happen in between. */
const TROUBLES = ['crash', 'failWrite', 'away'] as const;

export type StepName =
  | CommitName
  | (typeof TROUBLES)[number]
  | 'notice'
  | 'wait'
  | 'down'
  | 'back'
  | 'replace'
  | 'failWrites'
  | 'connect'
  | 'disconnect'
  | 'take'
  | 'takeAll'
  | 'consume'
  | 'month';

/** One step of a schedule, as plain data, so that a failing one can be shrunk and printed. */
export interface Step {
  readonly do: StepName;
  /** Picks a row, a client or their number, as a share of the existing ones. */
  readonly which: number;
  readonly size: number;
  /** Happens before the step's call with this number to chat.db or state.db. */
  readonly during?: {
    readonly call: number;
    /** Only calls that write are counted. */
    readonly isWrite: boolean;
    readonly do: CommitName | (typeof TROUBLES)[number];
    readonly which: number;
  };
}

/** Relative frequency of each step. */
const WEIGHTS: Readonly<Record<StepName, number>> = {
  insert: 10,
  insertOwn: 4,
  insertLate: 2,
  react: 2,
  complete: 2,
  edit: 8,
  unsend: 3,
  read: 6,
  delivered: 5,
  failed: 2,
  delete: 3,
  restore: 2,
  remove: 4,
  attach: 2,
  flip: 3,
  flood: 1,
  fill: 1,
  crash: 4,
  failWrite: 0,
  away: 2,
  back: 3,
  notice: 14,
  wait: 14,
  down: 2,
  replace: 1,
  failWrites: 2,
  connect: 8,
  disconnect: 4,
  take: 16,
  takeAll: 4,
  consume: 2,
  month: 0.2,
};
const NAMES = Object.keys(WEIGHTS) as [StepName, ...StepName[]];
const TOTAL = Object.values(WEIGHTS).reduce((sum, weight) => sum + weight, 0);

const KINDS = ['resume', 'live', 'page'] as const;

/**
 * Create rows and a reader, without which little can go wrong. The second schedule makes more changes during an absence
 * than a sweep lists.
 */
const PLAIN: readonly StepName[] = ['fill', 'notice', 'wait', 'connect', 'wait'];
const AFTER_FLOOD: readonly StepName[] = [
  'fill',
  'fill',
  'fill',
  'fill',
  'notice',
  'wait',
  'connect',
  'wait',
  'flood',
  'crash',
  'wait',
  'delete',
  'read',
  'delete',
  'notice',
  'wait',
];

export interface Schedule {
  /** Number of changes that are kept. */
  readonly kept: number;
  /** Delay of the reader thread's answers. Beyond a second, passes run meanwhile. */
  readonly lateByMs: number;
  readonly clients: readonly (typeof KINDS)[number][];
  readonly steps: readonly Step[];
}

export function drawSchedule(chance: Chance): Schedule {
  const clients = Array.from({ length: 1 + chance.below(3) }, () => chance.of(KINDS));
  const steps = Array.from({ length: 10 + chance.below(40) }, () => drawStep(chance));
  const isFlooded = chance.in(0.2);
  const opening = (isFlooded ? AFTER_FLOOD : PLAIN).map((name) => ({
    do: name,
    which: chance.next(),
    size: name === 'wait' ? 5 : chance.below(isFlooded ? 10 : 4),
  }));
  return {
    kept: chance.in(0.3) ? 3 + chance.below(6) : Number.POSITIVE_INFINITY,
    lateByMs: chance.in(isFlooded ? 0.7 : 0.2) ? 1500 : 30,
    clients,
    steps: [...opening, ...steps],
  };
}

function drawStep(chance: Chance): Step {
  const step = { do: drawName(chance), which: chance.next(), size: chance.below(10) };
  // Passes run while time passes, so most faults happen there.
  const isWaiting = step.do === 'wait';
  if (!chance.in(isWaiting ? 0.5 : 0.25)) return step;
  const name = chance.in(isWaiting ? 0.6 : 0.3) ? chance.of(TROUBLES) : chance.of(COMMITS);
  const isWrite = chance.in(0.4);
  return { ...step, during: { call: 1 + chance.below(isWrite ? 3 : 12), isWrite, do: name, which: chance.next() } };
}

function drawName(chance: Chance): StepName {
  let left = chance.next() * TOTAL;
  for (const name of NAMES) {
    left -= WEIGHTS[name];
    if (left < 0) return name;
  }
  return NAMES[0];
}

/** Returns the shortest schedule found that still fails: it leaves out steps, many at a time, then one by one. */
export async function shrink(
  schedule: Schedule,
  failure: (schedule: Schedule) => Promise<string | undefined>,
): Promise<Schedule> {
  let best = schedule;
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.steps.length; ) {
      const shorter = { ...best, steps: [...best.steps.slice(0, at), ...best.steps.slice(at + size)] };
      if ((await failure(shorter)) === undefined) at += size;
      else best = shorter;
    }
  }
  for (const [at, step] of best.steps.entries()) {
    const { during: _, ...plain } = step;
    const simpler = { ...best, steps: best.steps.with(at, plain) };
    if (step.during !== undefined && (await failure(simpler)) !== undefined) best = simpler;
  }
  return best;
}

export function described({ kept, lateByMs, clients, steps }: Schedule): string {
  const lines = steps.map(({ do: name, which, size, during }) => {
    const inside =
      during === undefined
        ? ''
        : `, before ${during.isWrite ? 'write' : 'call'} ${during.call}: ${during.do} (${during.which.toFixed(2)})`;
    return `  ${name} (${which.toFixed(2)}, ${size})${inside}`;
  });
  return [`changes kept: ${kept}, reads late by ${lateByMs} ms, clients: ${clients.join(' ')}`, ...lines].join('\n');
}
