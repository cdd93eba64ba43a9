import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { problem } from '../../src/core/model/problems.ts';
import { type LogOptions, openLog, type ProcessLog } from '../../src/core/runtime/log.ts';
import { maskAddress } from '../../src/core/runtime/redaction.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
let count = 0;

/** Returns all lines that `use` writes to a log: a line still on its way would end up in the file of the next test. */
async function linesOf(level: LogOptions['level'], use: (log: ProcessLog) => void): Promise<Record<string, unknown>[]> {
  count += 1;
  const path = join(folder, `${count}.log`);
  const fd = openSync(path, 'w');
  const log = await openLog({ level, isTerminal: false, fd });
  use(log);
  await log.drained();
  closeSync(fd);
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('an address', () => {
  test.each([
    ['+15551234567', '+1555…67'],
    ['+4915112345678', '+4915…78'],
    ['jane.doe@example.com', 'jane.…om'],
    ['iMessage;-;+15551234567', 'iMessage;-;+1555…67'],
    ['any;-;jane.doe@example.com', 'any;-;jane.…om'],
    ['SMS;-;72727', 'SMS;-;72…'],
    ['iMessage;+;chat123456789', 'iMessage;+;chat123456789'],
    ['+1555', '+1…'],
    ['Jane Doe', 'Jan…oe'],
    ['me', 'me'],
    ['', ''],
  ])('%s is shortened to %s', (address, short) => {
    expect(maskAddress(address)).toBe(short);
  });

  test.each(['+15550100', '+1555', 'a@b.c', '+15551234567', 'someone.with.a.long.name@example.com'])(
    'never shows all its characters: %s',
    (address) => {
      expect(maskAddress(address).replace('…', '').length).toBeLessThan(Math.max(address.length * 0.8, 4));
    },
  );
});

describe('a log line', () => {
  test('is one JSON object with level, time, message and fields', async () => {
    const [line, ...more] = await linesOf('info', (log) =>
      log.info('serving', { row_id: 7, url: 'http://127.0.0.1:3001' }),
    );
    expect(more).toEqual([]);
    const loggedAt = new Date(String(line?.time));
    expect(Math.abs(loggedAt.getTime() - Date.now())).toBeLessThan(5000);
    expect(line).toEqual({
      level: 'info',
      time: loggedAt.toISOString(),
      msg: 'serving',
      row_id: 7,
      url: 'http://127.0.0.1:3001',
    });
  });

  test('holds no control that a terminal would obey', async () => {
    const [line] = await linesOf('info', (log) => log.info('read', { name: 'a\u009b31mred\u007f' }));
    expect(line?.name).toBe('a\uFFFD31mred\uFFFD');
  });

  test('is left out below the level', async () => {
    const lines = await linesOf('warn', (log) => {
      log.debug('a');
      log.info('b');
      log.warn('c');
      log.error('d');
      log.fatal('e');
    });
    expect(lines.map(({ level, msg }) => `${String(level)} ${String(msg)}`)).toEqual(['warn c', 'error d', 'fatal e']);
  });

  test('keeps the fields of its child', async () => {
    const [line] = await linesOf('info', (log) =>
      log.child({ request_id: 'r1', sender: '+15551234567' }).info('x', { a: 1 }),
    );
    expect(line).toMatchObject({ request_id: 'r1', sender: '+1555…67', a: 1 });
  });

  const PRIVATE = {
    recipient: '+15551234567',
    participants: ['+15551234567', 'jane.doe@example.com'],
    conversation_id: 'iMessage;-;+15551234567',
    path: '/api/v1/conversations/iMessage%3B-%3B%2B15551234567/x?api_key=SECRET',
    error: new Error('nobody is known as jane.doe@example.com or +15551234567'),
    detail: { chatIds: ['any;-;+15551234567'] },
    mixed: 'tel:+15551234567, a.+15551234567, +15551234567.jane.doe@example.com and %2B15551234567%40example.com',
  };

  test('shortens phone numbers and e-mail addresses wherever they stand', async () => {
    const [line] = await linesOf('info', (log) => log.error('x', PRIVATE));
    expect(JSON.stringify(line)).not.toMatch(/1234567|jane\.doe/);
    expect(line).toMatchObject({
      recipient: '+1555…67',
      participants: ['+1555…67', 'jane.…om'],
      path: '/api/v1/conversations/iMessage%3B-%3B%2B15…67/x',
      detail: { chatIds: ['any;-;+1555…67'] },
    });
  });

  test('shows them at level debug, and the query string of a URL not even then', async () => {
    const [line] = await linesOf('debug', (log) => log.info('x', PRIVATE));
    expect(line).toMatchObject({ recipient: '+15551234567', participants: ['+15551234567', 'jane.doe@example.com'] });
    expect(JSON.stringify(line)).not.toContain('SECRET');
  });

  test.each(['debug', 'info'] as const)(
    'never holds a key, a body or more of a url than its origin: %s',
    async (level) => {
      const lines = await linesOf(level, (log) => {
        log.error('x', {
          api_key: 'SECRET',
          apiKey: 'SECRET',
          secret: 'SECRET',
          body: 'SECRET',
          text: { a: 'SECRET' },
        });
        log.error('x', {
          url: 'https://user:SECRET@hook.example:8443/SECRET?x=SECRET#SECRET',
          webhookUrl: 'http://a.example/SECRET',
        });
        log.error('x', { headers: { 'X-API-Key': 'SECRET' }, request: { url: '/api/v1/ws?api_key=SECRET' } });
      });
      expect(JSON.stringify(lines)).not.toContain('SECRET');
      expect(lines).toContainEqual(
        expect.objectContaining({ url: 'https://hook.example:8443', webhookUrl: 'http://a.example' }),
      );
    },
  );

  test('takes an error apart: name, code, message, cause; the stack only where somebody looks for it', async () => {
    const cause = Object.assign(new Error('inner'), { code: 'ENOENT', config: { headers: 'SECRET' } });
    const error = problem('chat_db_missing', {}, { cause });
    const [warned, failed] = await linesOf('info', (log) => {
      log.warn('x', { error });
      log.error('x', { error });
    });
    expect(warned).toMatchObject({
      error: {
        name: 'AppError',
        code: 'chat_db_unavailable',
        message: error.message,
        cause: { code: 'ENOENT', message: 'inner' },
      },
    });
    expect(JSON.stringify(warned)).not.toMatch(/stack|SECRET/);
    expect(failed).toMatchObject({ error: { stack: expect.stringContaining('log-lines.test') } });
  });

  test('survives values that JSON has no word for', async () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const [line] = await linesOf('info', (log) =>
      log.info('x', { big: 10n, nothing: undefined, none: null, loop, when: Number.NaN, call: () => 1 }),
    );
    expect(line).toMatchObject({ big: '10', none: null, loop: { self: {} } });
  });
});
