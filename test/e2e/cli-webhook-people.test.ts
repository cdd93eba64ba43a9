import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeAddressBook } from '../../src/features/simulator/address-book.ts';
import { waitFor } from '../support/eventually.ts';
import { type Ended, postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const MAIL = 'ana@example.com';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let receiver: Receiver;

beforeAll(async () => {
  mac = await simulatedMac();
  writeAddressBook(mac.addressBookPath);
  await mac.command({ do: 'receive', from: 'Bakery', text: 'Your bread is ready' });
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
  });
  receiver = await Receiver.start();
});
afterAll(async () => {
  await Promise.all([service.dispose(), receiver.close()]);
  await mac.dispose();
});

function run(...args: readonly string[]): Promise<Ended> {
  return postern(['--config-dir', service.configFolder, 'webhooks', ...args]);
}

async function added(...args: readonly string[]): Promise<{ readonly id: string; readonly stdout: string }> {
  const { exitCode, stdout, stderr } = await run('add', receiver.url, ...args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return { id: /Webhook (\S+) registered/.exec(stdout)?.[1] ?? '', stdout };
}

const sendersOf = async (id: string): Promise<unknown> =>
  ((await service.get(`/webhooks/${id}`)).json as { readonly filter: { readonly senders?: unknown } }).filter.senders;

describe('postern webhooks add --sender', () => {
  test('with a name gets what comes from every address of that person', async () => {
    const { id, stdout } = await added('--sender', 'ana silva');
    expect(stdout).toContain(`ana silva is ${ANA}, ${MAIL}.\n`);
    expect(await sendersOf(id)).toEqual([ANA, MAIL]);
    for (const from of ['+15550101', ANA, MAIL]) await mac.command({ do: 'receive', from, text: `by ${from}` });
    await waitFor(() => receiver.deliveries.find(({ event }) => event.data.body === `by ${MAIL}`));
    expect(receiver.deliveries.map(({ event }) => event.data.sender)).toEqual([ANA, MAIL]);
    expect((await run('edit', id, '--sender', 'Cho Tanaka', '--sender', ANA)).stdout).toContain(
      'Cho Tanaka is cho@example.com.\n',
    );
    expect(await sendersOf(id)).toEqual(['cho@example.com', ANA]);
    expect((await run('edit', id, '--sender', 'Anna Sylva')).exitCode).toBe(65);
    expect(await sendersOf(id)).toEqual(['cho@example.com', ANA]);
    await run('remove', id);
  });

  test('takes addresses as they are, including the name of a company that writes by SMS', async () => {
    const { id, stdout } = await added('--paused', '--sender', '+46701740605', '--sender', 'Bakery');
    expect(stdout).not.toContain(' is +46');
    expect(await sendersOf(id)).toEqual(['+46701740605', 'Bakery']);
    await run('remove', id);
  });

  test.each([
    ['Anna Sylva', 'Did you mean Ana Silva?'],
    ['Nobody Whatever', 'is not an address, and no person or conversation has this name.'],
    ['John Smith', 'John Smith (+15550121)'],
    [`any;-;${ANA}`, 'Give it with --conversation.'],
  ])('refuses %s, and suggests similar ones', async (sender, words) => {
    const { exitCode, stderr } = await run('add', receiver.url, '--sender', sender);
    expect([exitCode, stderr]).toEqual([65, expect.stringContaining(words)]);
    expect((await service.get('/webhooks')).json).toEqual([]);
  });
});
