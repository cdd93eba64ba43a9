import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { boundLogFiles } from '../../src/core/runtime/log-files.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const options = () => ({ clock: new FakeClock(), log: collectingLog() });
const MAX_BYTES = 10 * 1024 * 1024;
const TOO_MUCH = 'x'.repeat(MAX_BYTES + 1);

describe('a log file that launchd holds open', () => {
  test('is set aside when it is large, and continues from its beginning', async () => {
    const file = join(folder, 'postern.log');
    const held = openSync(file, 'a');
    writeSync(held, TOO_MUCH);
    const given = options();
    const stop = boundLogFiles([file, join(folder, 'not-there.log')], given);
    expect(readFileSync(`${file}.1`, 'utf8')).toHaveLength(TOO_MUCH.length);
    writeSync(held, 'next line\n');
    expect(readFileSync(file, 'utf8')).toBe('next line\n');

    appendFileSync(file, TOO_MUCH);
    await given.clock.advance(60_000);
    expect(readFileSync(`${file}.1`, 'utf8').startsWith('next line')).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('');
    expect(given.log.lines).toEqual([]);

    stop();
    expect(given.clock.pending).toBe(0);
    closeSync(held);
  });

  test('is emptied even when it cannot be copied, which is logged once', async () => {
    const file = join(folder, 'unlucky.log');
    mkdirSync(join(`${file}.1`, 'in the way'), { recursive: true });
    const given = options();
    writeFileSync(file, TOO_MUCH);
    const stop = boundLogFiles([file], given);
    writeFileSync(file, TOO_MUCH);
    await given.clock.advance(60_000);
    expect(readFileSync(file, 'utf8')).toBe('');
    expect(existsSync(`${file}.1.new`)).toBe(false);
    expect(given.log.lines.map(({ message }) => message)).toEqual(['could not rotate a log file']);
    stop();
  });
});
