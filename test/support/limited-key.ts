import type { Service } from './service.ts';

export interface LimitedKey {
  readonly id: string;
  /** The secret. */
  readonly key: string;
}

/** Creates an agent's key as the owner, over HTTP. */
export async function limitedKey(service: Service, settings: Readonly<Record<string, unknown>>): Promise<LimitedKey> {
  const answer = await service.post('/keys', { name: 'agent', ...settings });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.json as LimitedKey;
}
