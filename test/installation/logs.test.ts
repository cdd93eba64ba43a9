import { appendFileSync, mkdirSync, mkdtempSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { layoutOf } from '../../installer/install-layout.ts';
import { type LogsOptions, logs } from '../../src/features/installation/logs-command.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { PLAIN } from '../support/plain-context.ts';
import { temporaryFolder } from '../support/temporary.ts';

const clock = new FakeClock(Date.parse('2026-11-22T11:00:00Z'));
const line = (msg: string, more: object = {}): string =>
  `${JSON.stringify({ level: 'info', time: '2026-11-22T10:59:00.000Z', msg, ...more })}\n`;

const folder = temporaryFolder();

function mac(content?: string) {
  const homeFolder = mkdtempSync(join(folder, 'home-'));
  const [file] = layoutOf(homeFolder).logFiles;
  mkdirSync(dirname(file), { recursive: true });
  if (content !== undefined) writeFileSync(file, content);
  const printed: string[] = [];
  const ended = new AbortController();
  const print = (...lines: readonly string[]): void => void printed.push(...lines);
  const run = (options: LogsOptions, platform = 'darwin'): Promise<number> =>
    logs(
      options,
      {
        ...PLAIN,
        environment: { env: {}, platform, homeFolder },
        features: [],
        version: '0',
        isTerminal: false,
        stdout: print,
        stderr: print,
        input: () => process.stdin,
        writeLine: async (text) => print(text),
        secretLine: () => Promise.resolve(''),
        untilEnded: () => ended.signal,
      },
      clock,
    );
  return { file, printed, run, end: () => ended.abort() };
}

test('logs prints the last lines, for a person or as they are', async () => {
  const { run, printed } = mac(`${line('one')}${line('two', { url: 'http://x\x1b[2J' })}no JSON\n`);
  expect(await run({ lines: 2 })).toBe(0);
  expect(printed).toEqual([expect.stringMatching(/^\d\d:\d\d:00 INFO {2}two {2}url=http:\/\/x\[2J$/), 'no JSON']);
  printed.length = 0;
  await run({ lines: 3, json: true });
  expect(printed[0]).toBe(line('one').trim());
});

test('a line in the log that holds escape sequences does nothing to the terminal, whichever part holds them', async () => {
  const hostile = `{"level":"info\\u001b[2J","time":"2026-11-22T10:59:00.000Z","msg":"\u009b2J\u202e"}`;
  const { run, printed } = mac(`${hostile}\nno JSON \x1b[2J\n`);
  await run({ lines: 2 });
  await run({ lines: 2, json: true });
  expect(printed).toHaveLength(4);
  expect(printed.join('')).not.toMatch(/[\p{Cc}\u202e]/u);
  expect(JSON.parse(printed[2] ?? '')).toEqual(JSON.parse(hostile));
});

test('logs -f continues with whole lines, also after the file was emptied because it was large', async () => {
  const { run, printed, file, end } = mac(line('one'));
  const running = run({ follow: true, json: true });
  const { length } = line('two');
  appendFileSync(file, line('two').slice(0, 9));
  await clock.advance(250);
  appendFileSync(file, line('two').slice(9, length));
  await clock.advance(250);
  truncateSync(file);
  await clock.advance(250);
  appendFileSync(file, line('3'));
  await clock.advance(250);
  end();
  expect(await running).toBe(0);
  expect(printed.map((text) => (JSON.parse(text) as { readonly msg: string }).msg)).toEqual(['one', 'two', '3']);
});

test('a damaged line is printed as it is', async () => {
  const damaged = ['{"level":"info","time":"2026-13-99","msg":"a"}', '{"level":{"a":1},"time":5}', '{"level"'];
  const { run, printed } = mac(`${damaged.join('\n')}\n`);
  expect(await run({})).toBe(0);
  expect(printed).toEqual(damaged);
});

test('a log that cannot be read is a sentence and exit code 1', async () => {
  const { run, printed, file } = mac();
  mkdirSync(file);
  expect([await run({}), printed]).toEqual([1, [expect.stringContaining('EISDIR')]]);
});

test('without a log file, or elsewhere than on a Mac, logs says what to do', async () => {
  const { run, printed } = mac();
  expect([await run({}), printed[0]]).toEqual([1, expect.stringContaining('postern.log')]);
  printed.length = 0;
  expect([await run({}, 'linux'), printed[0]]).toEqual([1, expect.stringContaining('There is no log file')]);
});
