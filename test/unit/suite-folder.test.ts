import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { layoutOf } from '../../installer/install-layout.ts';
import { socketOf } from '../../src/core/config/service-address.ts';
import { StandInMac } from '../support/stand-in-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** The suite's temporary folder on macOS, where /tmp is a link. */
const MACOS_FOLDER = '/private/tmp/pt-XXXXXX';
const LONGEST_USER = "Zoë O'Neil";
const folder = temporaryFolder();

const asOnMacos = (path: string): string => path.replace(tmpdir(), MACOS_FOLDER);

test('sockets of the tests are no longer here than on macOS, so that one that is too long fails here too', () => {
  expect(Buffer.byteLength(tmpdir())).toBeGreaterThanOrEqual(MACOS_FOLDER.length);
});

test('the longest socket of the tests is one that macOS allows', async () => {
  const mac = await StandInMac.start(LONGEST_USER);
  try {
    const homes = [mac.home, join(folder, LONGEST_USER)];
    for (const home of homes.map(asOnMacos)) {
      const { support } = layoutOf(home);
      expect(socketOf({ dir: support })).toEqual({ path: join(support, 'postern.sock') });
    }
  } finally {
    await mac.close();
  }
});
