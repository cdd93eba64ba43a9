import { expect, test } from '@jest/globals';
import type { Served } from '../../src/core/cli/service-connection.ts';
import { send } from '../../src/features/client-commands/send-command.ts';

const FAILED = { id: '7', conversation_id: 'any;-;+15550100', body: 'hi', attachments: [], status: 'failed' };

test('`postern send` fails if Messages has marked the message as failed', async () => {
  const [printed, errors]: [string[], string[]] = [[], []];
  const service = {
    client: { send: async () => FAILED },
    progress: () => {},
    paintError: (_colour: string, text: string) => text,
    answer: (_value: unknown, ...lines: readonly string[]) => void printed.push(...lines),
    stderr: (...lines: readonly string[]) => void errors.push(...lines),
  } as unknown as Served;
  expect(await send('+15550100', 'hi', {}, service)).toBe(1);
  expect(printed).toEqual([]);
  expect(errors).toEqual(['Message 7 to +15550100 failed: Messages could not deliver it.']);
});
