import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { chatSendLookup } from '../../src/core/chatdb/lookups.ts';
import { osascript } from '../../src/core/sender/osascript.ts';
import type { Behaviour } from '../../src/features/simulator/commands.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { InMemoryStore } from '../support/in-memory-messages.ts';
import { collectingLog } from '../support/log.ts';
import { newSender } from '../support/new-sender.ts';
import { newSentParts } from '../support/sender-fixture.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const HOUR_MS = 3_600_000;
let mac: Awaited<ReturnType<typeof simulatedMac>>;
beforeAll(async () => {
  mac = await simulatedMac();
});
afterAll(() => mac.dispose());

/** Creates a sender as on a Mac, with a staging folder, and with the simulated Mac's chat.db and osascript. */
function macSender(clock: FakeClock) {
  const log = collectingLog();
  const connection = new Connection({ path: mac.chatDbPath, home: mac.homeFolder, log });
  const stagingFolder = join(mac.homeFolder, 'Library/Messages/Attachments/Postern');
  const { sender } = newSender({
    messages: osascript({ path: mac.osascriptPath, clock }),
    lookup: chatSendLookup(connection),
    idempotency: new InMemoryStore(),
    sentParts: newSentParts(),
    clock,
    log,
    confirmMs: 0,
    attachments: { roots: [], chatDbPath: mac.chatDbPath, configDir: join(mac.homeFolder, 'config') },
    stagingFolder,
  });
  return { sender, connection, stagingFolder, staged: () => readdirSync(stagingFolder) };
}

describe('a picture that was sent', () => {
  test.each<readonly [Behaviour['stagedFiles'], number]>([
    ['in_place', 1],
    ['in_place_tilde', 1],
    ['copied', 0],
  ])('is still there a day and a restart later when the conversation shows the very copy (%s)', async (mode, left) => {
    await mac.command({ do: 'behave', stagedFiles: mode });
    const photo = join(folder, 'photo.png');
    writeFileSync(photo, 'a photo');
    const clock = new FakeClock();
    const first = macSender(clock);
    const before = existsSync(first.stagingFolder) ? first.staged().length : 0;
    await first.sender.send({ recipient: '+15550100', body: '', attachments: [photo] });
    expect(first.staged()).toHaveLength(before + 1);
    await clock.advance(HOUR_MS);
    await eventually(() => expect(first.staged().length).toBe(before + left));
    await first.sender.close();
    first.connection.close();

    const second = macSender(clock);
    await second.sender.start();
    await clock.advance(24 * HOUR_MS);
    await eventually(() => {
      expect(clock.pending).toBe(0);
      expect(second.staged().length).toBe(before + left);
    });
    await second.sender.close();
    second.connection.close();
  });
});
