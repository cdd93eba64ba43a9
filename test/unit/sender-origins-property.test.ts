import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Origin } from '../../src/core/model/details.ts';
import type { SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { isLong } from '../support/conditions.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { NO_DETAILS } from '../support/no-details.ts';
import { idle, setUp } from '../support/sender-fixture.ts';

/** What happens, in an order that the seed chooses. */
type Step =
  | { readonly do: 'send'; readonly chat: number; readonly text: number }
  /** The row of a send that has none yet appears. */
  | { readonly do: 'row'; readonly which: number }
  /** The person writes on another device. */
  | { readonly do: 'elsewhere'; readonly chat: number; readonly text: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'crash' }
  | { readonly do: 'read' };

const CHATS = ['+15550100', '+15550111'];
const TEXTS = ['yes', 'no', 'later'];
const chat = fc.nat(CHATS.length - 1);
const text = fc.nat(TEXTS.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), chat, text }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('row' as const), which: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('elsewhere' as const), chat, text }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(30, 1500, 95_000, 700_000) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'crash' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'read' as const }) },
);

interface Sent {
  readonly content: string;
  readonly atMs: number;
  rowId?: number;
}

async function play(steps: readonly Step[]): Promise<void> {
  const first = setUp({ confirmMs: 25 });
  const rows = first.chat;
  for (const address of CHATS) rows.know(`any;-;${address}`, null, address);
  let world = first;
  await world.sender.start();
  const sent: Sent[] = [];
  const elsewhere = new Set<number>();
  const contentOf = new Map<number, string>();

  const add = (where: number, what: number): number => {
    const rowId = rows.add({ address: `-;${CHATS[where]}`, body: TEXTS[what] ?? '', datedMs: world.clock.now() });
    contentOf.set(rowId, `${where} ${what}`);
    return rowId;
  };
  const originOf = (rowId: number): Origin | undefined => {
    const message = rows.message(rowId);
    return message && world.origins.added(message, NO_DETAILS).origin;
  };
  /** A row's reported origin never changes, and is never wrong. */
  const said = new Map<number, string>();
  const check = (): void => {
    const requests = new Set<string>();
    for (const rowId of contentOf.keys()) {
      const origin = originOf(rowId);
      if (origin === undefined) continue;
      const words = JSON.stringify(origin);
      expect(said.get(rowId) ?? words).toBe(words);
      said.set(rowId, words);
      expect(origin.by).toBe(elsewhere.has(rowId) ? 'elsewhere' : 'gateway');
      if (origin.by === 'elsewhere') continue;
      expect(requests.has(origin.request_id ?? '')).toBe(false);
      requests.add(origin.request_id ?? '');
      expect(sent[Number(origin.request_id)]?.content).toBe(contentOf.get(rowId));
    }
  };

  for (const one of steps) {
    if (one.do === 'send') {
      const request = { recipient: CHATS[one.chat] ?? '', body: TEXTS[one.text] ?? '', requestId: String(sent.length) };
      sent.push({ content: `${one.chat} ${one.text}`, atMs: world.clock.now() });
      void world.send(request).catch(() => undefined);
      await idle();
      await world.clock.advance(25);
    } else if (one.do === 'row') {
      const waiting = sent.filter(({ rowId }) => rowId === undefined);
      const chosen = waiting[one.which % Math.max(waiting.length, 1)];
      if (chosen === undefined) continue;
      const [where = 0, what = 0] = chosen.content.split(' ').map(Number);
      chosen.rowId = add(where, what);
    } else if (one.do === 'elsewhere') {
      // An equal text in the same conversation, while the row of a send is missing, cannot be distinguished by anybody.
      const content = `${one.chat} ${one.text}`;
      if (sent.some((send) => send.rowId === undefined && send.content === content)) continue;
      elsewhere.add(add(one.chat, one.text));
    } else if (one.do === 'pass') await world.clock.advance(one.ms);
    else if (one.do === 'crash') {
      const clock = new FakeClock(world.clock.now() + 1000);
      world = { ...setUp({ confirmMs: 25, sentParts: first.sentParts, lookup: rows, clock }), chat: rows, clock };
      await world.sender.start();
    } else check();
  }
  check();
}

test('no schedule of sends, rows, crashes and waits makes a wrong origin, or two rows of one send', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), play), {
    numRuns: isLong ? 5000 : 30,
  });
}, 600_000);

type Run =
  /** The row appears this long after the run began, or never. */
  | { readonly do: 'send'; readonly chat: number; readonly text: number; readonly afterMs: number | 'never' }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'restart' };

const run: fc.Arbitrary<Run> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      chat,
      text: fc.nat(1),
      afterMs: fc.constantFrom(0, 10, 400, 2000, 'never' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(30, 5000, 95_000) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
);

/** Sends with a key each, and checks that each send has the row that its run wrote, and a send without a row none. */
async function playRuns(runs: readonly Run[]): Promise<void> {
  const first = setUp();
  const rows = first.chat;
  for (const address of CHATS) rows.know(`any;-;${address}`, null, address);
  let world = first;
  await world.sender.start();
  const sent: { readonly request: Partial<SendRequest>; readonly rowId: () => number | undefined }[] = [];
  for (const one of runs) {
    if (one.do === 'pass') await world.clock.advance(one.ms);
    else if (one.do === 'restart') {
      await world.sender.close();
      const { sentParts, store: idempotency } = first;
      world = {
        ...setUp({ sentParts, idempotency, lookup: rows, clock: world.clock }),
        chat: rows,
        clock: world.clock,
      };
      await world.sender.start();
    } else {
      const key = String(sent.length);
      const [recipient = '', body = ''] = [CHATS[one.chat], TEXTS[one.text]];
      const request = { recipient, body, requestId: key, idempotencyKey: { kind: 'client' as const, key } };
      let rowId: number | undefined;
      const { clock } = world;
      const write = (): void => {
        const datedMs = Math.floor(clock.now() / 1000) * 1000;
        rowId = rows.add({ address: `-;${recipient}`, body, datedMs });
      };
      world.messages.behave = () => {
        if (one.afterMs === 0) write();
        else if (one.afterMs !== 'never') clock.after(one.afterMs, write);
        return { kind: 'done' };
      };
      sent.push({ request, rowId: () => rowId });
      const sending = world.send(request);
      await idle();
      await clock.advance(3500);
      expect((await sending).message.id).toBe(String(rowId ?? ''));
    }
  }
  for (const { request, rowId } of sent) {
    const answer = await world.send(request).catch((error: { code: string }) => error.code);
    if (rowId() === undefined) {
      expect([false, 'send_outcome_unknown']).toContain(typeof answer === 'string' ? answer : answer.confirmed);
      continue;
    }
    expect(answer).toMatchObject({ confirmed: true, message: { id: String(rowId()) } });
    const message = rows.message(rowId() ?? 0);
    const origin = message && world.origins.added(message, NO_DETAILS).origin;
    expect(origin).toMatchObject({ by: 'gateway', request_id: request.requestId });
  }
}

test('no schedule of ghosts, rows and restarts gives a send the row of another, or takes its own from it', async () => {
  await fc.assert(fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 12 }), playRuns), {
    numRuns: isLong ? 1000 : 30,
  });
}, 600_000);
