import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { declareProgram } from '../../src/core/cli/program.ts';
import { FEATURES } from '../../src/features/list.ts';
import { MAIN } from '../support/postern.ts';
import { BARE_ENVIRONMENT } from '../support/temporary.ts';

const CONTEXT = { features: FEATURES, version: '0' } as unknown as ClientContext;
const program = declareProgram(CONTEXT, async () => {});
const serving = program.commands.filter(({ isServing }) => isServing).map((command) => command.name());
const REPORT = "process.on('exit', () => console.log('threads ' + process.env.UV_THREADPOOL_SIZE))";

/** Returns the number of libuv's threads that the program chooses; `undefined` for libuv's own choice. */
function threads(...args: readonly string[]): string | undefined {
  const { stdout } = spawnSync(process.execPath, [MAIN, ...args, '--help'], {
    env: { ...BARE_ENVIRONMENT, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(REPORT)}` },
    encoding: 'utf8',
  });
  return /^threads (\w+)$/m.exec(stdout)?.[1];
}

test.each(['', ...serving, ...serving.map((name) => `--config-dir /x ${name}`)])(
  'a command that serves has threads for the lookups of many webhooks: postern %s',
  (line) => {
    expect(threads(...line.split(' ').filter(Boolean))).toBe('128');
  },
);

test('a command that asks the service has only those of libuv', () => {
  expect(threads('status')).toBe('undefined');
});
