import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { copyState } from '../../installer/switch-over.ts';
import { uninstall } from '../../installer/uninstall.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const newMac = closedAfterEach(() => StandInMac.start());

async function installed(): Promise<StandInMac> {
  const mac = await newMac();
  await install(mac.machine(), mac.options());
  return mac;
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  );

/** Updates to 0.2.0, which does not start. Runs `meanwhile` once the state has been copied. */
async function failingUpdate(mac: StandInMac, meanwhile: () => Promise<string>) {
  mac.behave({ permissions: {}, broken: ['0.2.0'] });
  const state = join(mac.layout.support, 'state.db');
  writeFileSync(state, 'of 0.1.0');
  let other: Promise<string> | undefined;
  const machine = mac.machine({
    run: async (command, args, options) => {
      if (args[0] === 'bootstrap') {
        other ??= meanwhile();
        await other;
      }
      return mac.run(command, args, options);
    },
  });
  const first = await codeOf(install(machine, mac.options({ version: '0.2.0' })));
  return { first, other: await other, state: existsSync(state) ? readFileSync(state, 'utf8') : undefined };
}

test('two installers at once: the second is refused, so the first takes back the state that it copied', async () => {
  const mac = await installed();
  const second = () => codeOf(install(mac.machine(), mac.options({ version: '0.3.0' })));
  expect(await failingUpdate(mac, second)).toEqual({
    first: 'rolled_back',
    other: 'already_installing',
    state: 'of 0.1.0',
  });
  mac.behave({ permissions: {} });
  expect(await second()).toBe('none');
});

test('an uninstallation while an installer runs is refused, and removes nothing', async () => {
  const mac = await installed();
  const other = () => codeOf(uninstall(mac.machine(), { purge: true }));
  expect(await failingUpdate(mac, other)).toEqual({
    first: 'rolled_back',
    other: 'already_installing',
    state: 'of 0.1.0',
  });
});

test('going back without the removed copy of the state leaves the state in place and says so', async () => {
  const mac = await installed();
  const state = join(mac.layout.support, 'state.db');
  writeFileSync(state, 'of both');
  const step = copyState(mac.layout);
  await step.run();
  rmSync(join(mac.layout.support, '.state-before'), { recursive: true });
  expect(() => step.undo()).toThrow('.state-before');
  expect(readFileSync(state, 'utf8')).toBe('of both');
});

test('nobody else may replace the program in the app, even with a umask that lets the group write', async () => {
  const before = process.umask(0);
  try {
    const mac = await installed();
    const { app, executable, plist, command, support } = mac.layout;
    const contents = join(app, 'Contents');
    const paths = [
      app,
      contents,
      dirname(executable),
      executable,
      join(contents, 'Info.plist'),
      plist,
      command,
      support,
    ];
    expect(paths.filter((path) => (statSync(path).mode & 0o022) !== 0)).toEqual([]);
    expect(process.umask(0)).toBe(0);
  } finally {
    process.umask(before);
  }
});
