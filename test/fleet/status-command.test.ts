import { expect, test } from '@jest/globals';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { showReport } from '../../src/features/fleet/setup/status-command.ts';
import { PLAIN } from '../support/plain-context.ts';

test('neither a server nor a Mac controls the terminal or writes a line of its own', () => {
  const lines: string[] = [];
  const stdout = (...given: readonly string[]): void => void lines.push(...given);
  const hostile = 'x\u001b[2J\n! m2 does not answer.';
  showReport(
    {
      servers: [{ name: hostile, version: hostile, syncsAlways: true, bytes: 0, maxBytes: 0 }],
      streams: [],
      macs: [],
      certificates: [],
      problems: [`m1 (a): ${hostile}`],
      warnings: [hostile],
    },
    0,
    { ...PLAIN, stdout, stderr: stdout } as unknown as ClientContext,
  );
  const whole = lines.join('\n');
  expect(whole).not.toContain('\u001b');
  expect(whole).not.toMatch(/^! m2/m);
  expect(whole).toMatch(/^! m1/m);
});
