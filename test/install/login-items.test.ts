import { describe, expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { macFindings } from '../../src/features/doctor/cli/mac-findings.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const newMac = closedAfterEach(() => StandInMac.start());

describe('an agent that is switched off in System Settings', () => {
  test.each([
    ['13.7.8', 'General > Login Items, under Allow in the Background'],
    ['14.8.1', 'General > Login Items, under Allow in the Background'],
    ['15.7', 'General > Login Items & Extensions, under Allow in the Background'],
    ['26.1', 'General > Login Items & Extensions, under App Background Activity'],
    ['27.0', 'General > Login Items & Extensions, under App Background Activity'],
    ['not a version', 'General > Login Items & Extensions, switch'],
  ])('is reported with the place of the switch on macOS %s, also by doctor', async (version, place) => {
    const mac = await newMac();
    mac.keep('macos-version', version);
    mac.keep('login-items-off');
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({
      message: expect.stringContaining(place),
    });
    const { what_to_do: advice } = (await macFindings(mac.machine())).find(({ name }) => name === 'agent') ?? {};
    expect(advice).toContain(place.replace(', switch', ''));
  });

  test('a bootstrap that macOS refuses (119) is reported with the place of the switch', async () => {
    const mac = await newMac();
    mac.keep('macos-version', '14.8.1');
    const run: typeof mac.run = (command, args, options) =>
      args[0] === 'bootstrap'
        ? Promise.resolve({ code: 119, stdout: '', stderr: '', trouble: null })
        : mac.run(command, args, options);
    await expect(install(mac.machine({ run }), mac.options())).rejects.toMatchObject({
      hint: expect.stringContaining('General > Login Items, under Allow in the Background'),
    });
  });
});
