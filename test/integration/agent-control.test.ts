import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AgentOrder, controlAgent } from '../../installer/agent-control.ts';
import { install } from '../../installer/install.ts';
import { LABEL } from '../../installer/install-layout.ts';
import { Launchd } from '../../installer/launchd.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

let mac: StandInMac;

beforeAll(async () => {
  mac = await StandInMac.start();
});
afterAll(() => mac.close());

async function order(what: AgentOrder): Promise<string> {
  mac.said.length = 0;
  await controlAgent(mac.machine(), what, mac.options().readSettings);
  return mac.said.at(-1) ?? '';
}

async function pid(): Promise<number | undefined> {
  const machine = mac.machine();
  const job = await new Launchd(machine.run, machine.clock, machine.uid, LABEL).state();
  return job.kind === 'running' ? job.pid : undefined;
}

describe('postern start, stop and restart', () => {
  test('say what is missing where nothing is installed, and elsewhere than on a Mac', async () => {
    await expect(order('start')).rejects.toMatchObject({ code: 'not_installed', hint: 'Run: make install' });
    const linux = mac.machine({ platform: 'linux' });
    await expect(controlAgent(linux, 'restart', mac.options().readSettings)).rejects.toMatchObject({
      code: 'not_a_mac',
      hint: expect.stringContaining('postern serve'),
    });
  });

  test('stop the agent for good, start it again, and change nothing that needs no change', async () => {
    await install(mac.machine(), mac.options());
    const first = await pid();
    expect(await order('start')).toBe(`Postern is already running, as process ${first}.`);
    expect(await order('stop')).toContain('Postern has stopped.');
    expect(await pid()).toBeUndefined();
    expect(await order('stop')).toBe('Postern is not running.');
    expect(await order('start')).toBe(`Postern is running at http://127.0.0.1:${mac.port}`);
    const second = await pid();
    expect(await order('restart')).toBe(`Postern is running at http://127.0.0.1:${mac.port}`);
    expect(await pid()).not.toBe(second);
  });
});
