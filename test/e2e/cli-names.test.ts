import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { AddressBookSource, addressBookFile, writeAddressBook } from '../../src/features/simulator/address-book.ts';
import { eventually } from '../support/eventually.ts';
import { type Ended, postern, type Running, startPostern } from '../support/postern.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const running: Running[] = [];
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

beforeAll(async () => {
  mac = await simulatedMac();
  writeAddressBook(mac.addressBookPath);
  const own = AddressBookSource.open(addressBookFile(mac.addressBookPath));
  own.person({ first: 'Evil', last: '\u001b[31mRed\u202e', numbers: ['+15550199'] });
  own.person({ first: 'Zoë', last: 'Two', numbers: ['+15550160', '+15550161'] });
  own.close();
  await mac.command({ do: 'group', identifier: 'chat1', participants: [ANA, 'cho@example.com'], name: 'Garden' });
  await mac.command({ do: 'receive', from: ANA, text: 'Hello' });
  await mac.command({ do: 'receive', from: '+15550111', text: 'From my other number' });
  await mac.command({ do: 'receive', from: '+15550199', text: 'Red' });
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { search: { enabled: true } },
  });
});
afterEach(() => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

function run(...args: readonly string[]): Promise<Ended> {
  return postern(['--config-dir', service.configFolder, ...args]);
}

const recipients = (): readonly (string | undefined)[] => mac.calls.map(({ values }) => values.RECIPIENT);

describe('names are shown beside the addresses', () => {
  test('by messages and conversations', async () => {
    expect((await run('messages')).stdout).toMatch(/^1 .* ← {2}Ana Silva \(\+15550100\) +Hello$/m);
    const { stdout } = await run('conversations');
    expect(stdout).toMatch(/any;-;\+15550100 +Ana Silva +\+15550100$/m);
    expect(stdout).toMatch(/Garden +Ana Silva \(\+15550100\), Cho Tanaka \(cho@example.com\)$/m);
  });

  test('by people, once for all addresses', async () => {
    const { stdout } = await run('people');
    expect(stdout).toMatch(/^[\da-f]{16} +Ben Okafor +\+15550101, \+15550111$/m);
    expect(stdout).not.toMatch(/\p{Cf}|[^\P{Cc}\n]/u);
    expect((await run('people', 'silva', '--json')).stdout).toMatch(/"name": "Ana Silva"/);
    expect((await run('people', 'nobody')).stderr).toBe('Nobody matches.\n');
  });

  test('by messages of a person, who is named, or written as an address or an id', async () => {
    await mac.command({ do: 'receive', from: 'ana@example.com', text: 'From the laptop' });
    const [ana] = JSON.parse((await run('people', 'silva', '--json')).stdout) as readonly { readonly id: string }[];
    for (const person of ['ana silva', ANA, ana?.id ?? '']) {
      const { stdout } = await run('messages', '--person', person);
      expect(stdout).toMatch(/Hello\n.*From the laptop$/m);
      expect(stdout).not.toContain('other number');
    }
    const codes = [['x'], ['0123456789abcdef'], ['Ana Silva', ANA], ['Ana Silva', '--since', '1h']];
    const ended = await Promise.all(codes.map((args) => run('messages', '--person', ...args)));
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([65, 65, 64, 64]);
    expect(ended[0]?.stderr).toMatch(/no conversations with a person who has the name or address x/);
  });

  test('by search, and not in its JSON', async () => {
    await eventually(async () => {
      expect((await run('search', 'hello')).stdout).toMatch(/ ← {2}Ana Silva \(\+15550100\) {2}Hello$/m);
    });
    expect((await run('search', 'hello', '--json')).stdout).not.toContain('Ana Silva');
  });

  test('by tail, for reactions too', async () => {
    const tail = startPostern(['tail', '--config-dir', service.configFolder, '--after', '0']);
    running.push(tail);
    await mac.command({ do: 'react', to: 1, from: ANA, type: 2000 });
    await eventually(() => {
      expect(tail.stdout).toMatch(/ ← Ana Silva \(\+15550100\) {2}Hello$/m);
      expect(tail.stdout).toMatch(/ ← Ana Silva \(\+15550100\) {2}reacted with love to message 1$/m);
    });
  });

  test('but never as something that commands the terminal', async () => {
    const { stdout } = await run('messages', '+15550199');
    expect(stdout).toContain('Evil [31mRed (+15550199)');
  });

  test('and --json is the answer of the service, as before', async () => {
    for (const command of ['messages', 'conversations']) {
      expect((await run(command, '--json')).stdout).not.toContain('Silva');
    }
  });
});

describe('a list of a key takes a name', () => {
  test('of one person, with every address', async () => {
    const { stdout } = await run('keys', 'add', 'names', '--preset', 'reader', '--read', 'Benji', '--read', 'garden');
    expect(stdout).toMatch(/^ {2}may read {2}\+15550101, \+15550111, any;\+;chat1$/m);
    expect((await run('keys', 'forbid', 'names', '--read', 'ben okafor')).stdout).toContain('may read  any;+;chat1');
  });

  test('of several people not at all', async () => {
    const { exitCode, stderr } = await run('keys', 'allow', 'names', '--read', 'John Smith');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 65,
      stderr: expect.stringContaining('John Smith means several:'),
    });
  });
});

describe('send takes a name', () => {
  test('of one person, and says whom it means', async () => {
    expect(await run('send', 'ana silva', 'Hi')).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^Sent to Ana Silva \(\+15550100\) as message \d+ \(/),
      stderr: 'To Ana Silva (+15550100).\n',
    });
    expect(recipients().at(-1)).toBe(ANA);
  });

  test('of a person with several addresses: the one written to last, or the nickname', async () => {
    expect((await run('send', 'Benji', 'Hi')).stderr).toBe('To Ben Okafor (+15550111).\n');
    expect(recipients().at(-1)).toBe('+15550111');
  });

  test('of a group', async () => {
    const { exitCode, stderr } = await run('send', 'garden', 'Hi all');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'To Garden (any;+;chat1).\n' });
  });

  test.each([
    ['John Smith', ['  John Smith (+15550120)', '  John Smith (+15550121)']],
    // No conversation exists with either of them.
    ['Zoe Two', ['  Zoë Two (+15550160)', '  Zoë Two (+15550161)']],
  ])('but not %s, which means several: they are listed and nothing is sent', async (name, candidates) => {
    const before = recipients().length;
    const { exitCode, stdout, stderr } = await run('send', name, 'Hi');
    expect({ exitCode, stdout }).toEqual({ exitCode: 65, stdout: '' });
    expect(stderr.split('\n').slice(0, 3)).toEqual([`${name} means several:`, ...candidates]);
    expect(recipients()).toHaveLength(before);
  });

  test('and refuses one that nobody has', async () => {
    const before = recipients().length;
    const { exitCode, stderr } = await run('send', 'Nobody At All', 'Hi');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 65,
      stderr: expect.stringContaining('Nobody At All is not an address, and no person or conversation has this name.'),
    });
    expect(recipients()).toHaveLength(before);
  });
});

describe('send --wait', () => {
  test('ends when the message is delivered, and says so', async () => {
    const { exitCode, stdout } = await run('send', ANA, 'Wait for it', '--wait', 'delivered');
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/^Message \d+ to \+15550100 is (delivered|read)\.\n$/),
    ]);
  });

  test('of a message that cannot be delivered ends with 1', async () => {
    await mac.command({ do: 'scenario', name: 'error_22', times: 1 });
    const { exitCode, stdout, stderr } = await run('send', ANA, 'Never comes', '--wait', 'delivered');
    expect([exitCode, stdout, stderr]).toEqual([1, '', expect.stringContaining('failed: Messages could not deliver')]);
  });

  test('ends with 124 when the time is up, and warns of a second send', async () => {
    await mac.command({ do: 'behave', push: 'dead' });
    const { exitCode, stdout, stderr } = await run(
      'send',
      ANA,
      'Too slow',
      '--wait',
      'read',
      '--timeout',
      '0',
      '--json',
    );
    expect([exitCode, stderr]).toEqual([124, expect.stringContaining('do not send it again')]);
    expect(JSON.parse(stdout)).toMatchObject({ body: 'Too slow' });
    await mac.command({ do: 'behave' });
  });
});

test('messages takes the name of a person or a group', async () => {
  expect((await run('messages', 'ANA SILVA')).stdout).toContain('Hello');
  expect((await run('messages', 'Ben Okafor')).stdout).toContain('From my other number');
  expect((await run('messages', 'garden')).stdout).toContain('Hi all');
  const { exitCode, stderr } = await run('messages', 'John Smith');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 65,
    stderr: expect.stringContaining('no conversation with John Smith'),
  });
});

test('names switched off leave addresses, and send takes those alone', async () => {
  service.configure({ contacts: { enabled: false } });
  await service.stop();
  await service.launch();
  expect((await run('messages', ANA)).stdout).toMatch(/ ← {2}\+15550100 +Hello$/m);
  expect((await run('send', 'Ana Silva', 'Hi')).exitCode).toBe(65);
  expect((await run('send', 'Garden', 'Hi')).exitCode).toBe(0);
});
