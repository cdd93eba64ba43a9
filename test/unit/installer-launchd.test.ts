import { describe, expect, test } from '@jest/globals';
import { Launchd } from '../../installer/launchd.ts';
import type { CommandResult } from '../../src/core/runtime/command.ts';
import { FakeClock } from '../support/fake-clock.ts';

const result = (code: number | null, stdout = '', trouble: CommandResult['trouble'] = null): CommandResult => ({
  code,
  stdout,
  stderr: code === 0 ? '' : `failed: ${code}: some words`,
  trouble,
});

/** Returns a launchctl whose answers come from a list per verb; the last one repeats. */
function launchd(answers: Readonly<Record<string, readonly CommandResult[]>>): {
  agent: Launchd;
  clock: FakeClock;
  asked: string[];
} {
  const clock = new FakeClock();
  const asked: string[] = [];
  const given = new Map(Object.entries(answers).map(([verb, list]) => [verb, [...list]]));
  const agent = new Launchd(
    async (_command, [verb = '', ...rest]) => {
      asked.push([verb, ...rest].join(' '));
      const list = given.get(verb) ?? [];
      return (list.length > 1 ? list.shift() : list[0]) ?? result(0);
    },
    clock,
    501,
    'local.postern.agent',
  );
  return { agent, clock, asked };
}

/** Advances the clock until `work` has ended. */
async function passing<Result>(clock: FakeClock, work: Promise<Result>): Promise<Result> {
  let isDone = false;
  const ended = (): void => {
    isDone = true;
  };
  work.then(ended, ended);
  while (!isDone) await clock.advance(250);
  return work;
}

describe('the state of the agent', () => {
  test.each([
    [result(0, '{\n\tstate = running\n\tpid = 812\n}'), { kind: 'running', pid: 812 }],
    [result(0, '{\n\tstate = waiting\n\tlast exit code = 78: EX_CONFIG\n}'), { kind: 'loaded', lastExitCode: 78 }],
    [result(0, '{\n\tlast exit code = (never exited)\n}'), { kind: 'loaded', lastExitCode: null }],
    [result(113), { kind: 'absent' }],
    [result(3), { kind: 'absent' }],
    [result(112), { kind: 'no_session' }],
    [result(125), { kind: 'no_session' }],
    [result(null, '', 'missing'), { kind: 'unknown', detail: 'There is no launchctl on this machine.' }],
  ])('is read from what launchctl prints (%#)', async (answer, expected) => {
    expect(await launchd({ print: [answer] }).agent.state()).toEqual(expected);
  });

  test('whether it is disabled is read in old and new spelling', async () => {
    for (const [line, expected] of [
      ['"local.postern.agent" => disabled', true],
      ['"local.postern.agent" => true', true],
      ['"local.postern.agent" => enabled', false],
      ['"another" => disabled', false],
    ] as const) {
      expect(await launchd({ 'print-disabled': [result(0, line)] }).agent.isDisabled()).toBe(expected);
    }
  });
});

describe('whether there is a login session', () => {
  test.each([
    [0, true],
    [112, false],
    [113, false],
    [125, false],
    [64, true],
  ])('launchctl print of the domain, exit code %d: %s', async (code, expected) => {
    const { agent, asked } = launchd({ print: [result(code)] });
    expect(await agent.hasSession()).toBe(expected);
    expect(asked).toEqual(['print gui/501']);
  });
});

describe('loading the agent', () => {
  test('exit code 0 is enough', async () => {
    const { agent, asked } = launchd({ bootstrap: [result(0)] });
    await agent.bootstrap('/p.plist');
    expect(asked).toEqual(['bootstrap gui/501 /p.plist']);
  });

  test.each([17, 36, 37])('exit code %d waits until launchd lists the agent', async (code) => {
    const { agent, asked, clock } = launchd({
      bootstrap: [result(code)],
      print: [result(113), result(113), result(0, 'pid = 1')],
    });
    await passing(clock, agent.bootstrap('/p.plist'));
    expect(asked.map((line) => line.split(' ')[0])).toEqual(['bootstrap', 'print', 'print', 'print']);
  });

  test.each([17, 36, 37])('exit code %d without an agent is tried again, then an error', async (code) => {
    const { agent, asked, clock } = launchd({ bootstrap: [result(code)], print: [result(113)] });
    await expect(passing(clock, agent.bootstrap('/p.plist'))).rejects.toMatchObject({ code: 'launchctl_failed' });
    expect(asked.filter((line) => line.startsWith('bootstrap'))).toHaveLength(5);
  });

  test('error 5 is tried again, for it is the race with a bootout that has not ended', async () => {
    const { agent, asked, clock } = launchd({ bootstrap: [result(5), result(5), result(0)], print: [result(113)] });
    await passing(clock, agent.bootstrap('/p.plist'));
    expect(asked.filter((line) => line.startsWith('bootstrap'))).toHaveLength(3);
  });

  test('error 5 is final after a while', async () => {
    const { agent, clock } = launchd({ bootstrap: [result(5)], print: [result(113)] });
    await expect(passing(clock, agent.bootstrap('/p.plist'))).rejects.toMatchObject({
      message: expect.stringContaining('some words'),
    });
  });

  test.each([
    [112, 'logged in at the screen'],
    [125, 'logged in at the screen'],
    [119, 'switched off'],
    [122, 'owner or mode'],
    [134, 'kind of session'],
    [155, 'quarantine'],
  ])('exit code %d is explained in words', async (code, words) => {
    const { agent } = launchd({ bootstrap: [result(code)] });
    await expect(agent.bootstrap('/p.plist')).rejects.toMatchObject({ message: expect.stringContaining(words) });
  });
});

describe('stopping the agent', () => {
  test.each([0, 17, 36, 37])('waits until it is gone, whatever bootout says while it stops: %d', async (code) => {
    const running = result(0, 'pid = 1');
    const { agent, clock, asked } = launchd({ bootout: [result(code)], print: [running, running, result(113)] });
    await passing(clock, agent.bootout());
    expect(asked.filter((line) => line.startsWith('print'))).toHaveLength(3);
  });

  test('an error does not count when the agent is gone, and counts when it still runs', async () => {
    await launchd({ bootout: [result(5)], print: [result(113)] }).agent.bootout();
    const { agent, clock } = launchd({ bootout: [result(5)], print: [result(0, 'pid = 1')] });
    await expect(passing(clock, agent.bootout())).rejects.toMatchObject({
      message: expect.stringContaining('bootout ended with 5'),
    });
  });

  test('an agent that never goes is an error, not a wait forever', async () => {
    const { agent, clock } = launchd({ print: [result(0, 'pid = 1')] });
    await expect(passing(clock, agent.bootout())).rejects.toMatchObject({ code: 'agent_does_not_stop' });
  });
});
