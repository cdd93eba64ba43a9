import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { archived, bodiesOf, chainsOf, linesOf, verified } from '../support/archive-fixture.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { isLong, testIf } from '../support/conditions.ts';
import { seedOfForm } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary.ts';

const RUN = fileURLToPath(new URL('./archive-run.mjs', import.meta.url));
const disk = mkdtempSync(join(tmpdir(), 'postern-disk-'));
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=300k,mode=700', 'tmpfs', disk]).status === 0;
afterAll(() => {
  if (isMounted) spawnSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});
const root = temporaryFolder();
const chatDb = join(root, 'Messages', 'chat.db');
const folder = join(root, 'archive');
const KILLS = isLong ? 200 : 6;
const LIMIT_MS = isLong ? 3_600_000 : 120_000;
const ROWS_A_ROUND = 40;

/** Starts a run and kills it after `afterMs` milliseconds. If it ended earlier, returns how long it ran. */
async function killedRun(afterMs: number): Promise<number | undefined> {
  const startedMs = { begins: 0 };
  const child = spawn(process.execPath, [RUN, chatDb, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  let endedMs: number | undefined;
  let output = '';
  let kill: NodeJS.Timeout | undefined;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (kill === undefined) {
      startedMs.begins = performance.now();
      kill = setTimeout(() => child.kill('SIGKILL'), afterMs);
    }
    if (output.includes('ended')) endedMs = performance.now() - startedMs.begins;
  });
  await once(child, 'close');
  clearTimeout(kill);
  return endedMs;
}

test(
  `an export that is killed ${KILLS} times at random continues each time, and writes nothing twice`,
  async () => {
    const chance = new Chance(seedOfForm('archive', 29));
    const fixture = new ChatFixture(chatDb);
    const chats = Array.from({ length: 5 }, (_, n) => fixture.chat(`any;-;+1555010${n}`, [`+1555010${n}`]));
    const bodies = new Map<number, string>();
    const attachments = join(dirname(chatDb), 'Attachments');
    mkdirSync(attachments, { recursive: true });
    let [longestMs, unfinished] = [50, 0];

    for (let round = 0; round < KILLS; round += 1) {
      for (let n = 0; n < ROWS_A_ROUND; n += 1) {
        const body = `message ${round}.${n}`;
        const date = appleNs(`202${chance.below(6)}-03-01T10:00:00Z`);
        const row = fixture.message({ chat: chats[chance.below(chats.length)] ?? null, text: body, date });
        bodies.set(row, body);
        if (n % 10 > 0) continue;
        writeFileSync(join(attachments, `${row}.jpg`), `picture ${row}`.repeat(5000));
        fixture.attach(row, join(attachments, `${row}.jpg`), { transfer_name: 'a.jpg' });
      }
      const rows = [...bodies.keys()];
      const [edited = 0, deleted = 0] = [rows[chance.below(rows.length)], rows[chance.below(rows.length)]];
      bodies.set(edited, `edited in ${round}`);
      bodies.delete(deleted);
      fixture.sqlite.exec(`UPDATE message SET text = 'edited in ${round}', date_edited = ${round + 1} WHERE ROWID = ${edited};
      DELETE FROM message WHERE ROWID = ${deleted}`);
      const ranMs = await killedRun(chance.below(longestMs));
      if (ranMs === undefined) unfinished += 1;
      else longestMs = Math.max(50, Math.min(2000, Math.ceil(ranMs)));
      expect(
        (await verified(folder).catch(() => ({ faults: [] }))).faults.filter(({ file }) => file !== 'manifest.json'),
      ).toEqual([]);
    }

    expect(unfinished).toBeGreaterThan(0);
    await archived(chatDb, folder, { html: true });
    expect(await archived(chatDb, folder, { html: true })).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect(await verified(folder)).toMatchObject({ faults: [], unsealed: 0 });
    expect([...bodiesOf(folder)].sort()).toEqual([...bodies.values()].sort());
    const first = linesOf(folder).flatMap(({ message, replaces }) =>
      replaces === undefined && message ? [message.guid] : [],
    );
    expect(new Set(first).size).toBe(first.length);
    expect(chainsOf(folder).length).toBeGreaterThan(10);
    // No line repeats the previous line of the same row.
    const last = new Map<string, string>();
    for (const { message, removed, guid = message?.guid ?? '', files } of linesOf(folder)) {
      if (guid === '') continue;
      const said = removed === true ? 'removed' : JSON.stringify([message?.body, message?.status, files]);
      expect(`${guid} ${said}`).not.toBe(`${guid} ${last.get(guid)}`);
      last.set(guid, said);
    }
  },
  LIMIT_MS,
);

testIf(isMounted, 'needs to mount a disk')(
  'a full disk ends an export with whole lines, and room lets it continue',
  async () => {
    const path = join(root, 'full', 'chat.db');
    const fixture = new ChatFixture(path);
    const chat = fixture.chat('any;-;+15550100', ['+15550100']);
    for (let n = 0; n < 400; n += 1) fixture.message({ chat, text: `message ${n} ${'x'.repeat(500)}` });
    const onDisk = join(disk, 'archive');
    await expect(archived(path, onDisk)).rejects.toMatchObject({ code: 'archive_disk_full' });
    expect((await verified(onDisk)).faults).toEqual([]);
    expect(spawnSync('mount', ['-o', 'remount,size=20m', disk]).status).toBe(0);
    await archived(path, onDisk);
    expect(bodiesOf(onDisk)).toHaveLength(400);
    expect(await verified(onDisk)).toMatchObject({ faults: [], unsealed: 0 });
    expect(spawnSync('mount', ['-o', 'remount,ro', disk]).status).toBe(0);
    await expect(archived(path, onDisk)).rejects.toThrow(/EROFS/);
  },
);
