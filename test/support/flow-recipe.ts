import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import type { DeliveryRecord } from '../../src/core/model/webhook.ts';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { eventually } from './eventually.ts';
import { Service } from './service.ts';

export const HEADER = 'Bearer of the recipe';
const ANA = '+15550100';
const MODULES = fileURLToPath(new URL('../../dist/src/features/simulator/', import.meta.url));

export interface FlowRecipe {
  readonly name: string;
  /** An empty folder. */
  readonly folder: string;
  /** Status of the answer to a request without the header. */
  readonly refusal: number;
  /** Starts the recipe. Resolves with the URL of its webhook. */
  readonly start: (service: Service) => Promise<string>;
  readonly closers: (() => unknown)[];
}

/** Expects that a recipe answers each question once, even if its event comes twice, and nobody without the header. */
export async function expectOneAnswerEach({ name, folder, refusal, start, closers }: FlowRecipe): Promise<void> {
  const mac = new SimulatedMac({ dir: join(folder, 'mac'), moduleFolder: MODULES });
  await mac.start();
  closers.push(() => mac.stop());
  const service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  closers.push(() => service.dispose());
  const url = await start(service);
  const { id } = (
    await service.post('/webhooks', {
      ...{ url, events: ['message.received'], name, on_failure: 'hold' },
      headers: { Authorization: HEADER },
      filter: { conversation_ids: [`any;-;${ANA}`] },
    })
  ).json as { id: string };
  for (const text of ['Hello', 'What are your opening hours?']) await mac.command({ do: 'receive', from: ANA, text });
  const sent = async (): Promise<readonly string[]> => {
    const messages = (await service.get('/messages')).json as { body: string; is_from_me: boolean }[];
    return messages.filter(({ is_from_me: isOwn }) => isOwn).map(({ body }) => body);
  };
  await eventually(async () => expect(await sent()).toEqual(['We are open from 9 to 5.']));
  const forged = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ data: { body: 'opening hours', conversation_id: `any;-;${ANA}` } }),
  });
  expect(forged.status).toBe(refusal);
  await service.post(`/webhooks/${id}/replay`, { after: 0 });
  await eventually(async () => {
    const records = (await service.get(`/webhooks/${id}/deliveries`)).json as DeliveryRecord[];
    expect(records.map(({ outcome }) => outcome)).toEqual(Array(4).fill('delivered'));
  });
  // The answer to a third question arrives after anything that the repeats would have sent.
  await mac.command({ do: 'receive', from: ANA, text: 'And the opening hours on Sunday?' });
  await eventually(async () => expect((await sent()).length).toBe(2));
}
