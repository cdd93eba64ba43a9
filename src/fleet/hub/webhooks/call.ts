import type { NewWebhook, ReplayFrom, WebhookChanges } from '../../../domain/ports/webhooks.ts';
import type { HeldShard } from './held-shard.ts';
import { registrationFromJson, registrationToJson } from './registration.ts';
import type { KnownRegistration } from './registrations.ts';

/** What a hub asks of the one that has the webhook. */
export type WebhookCall =
  | { readonly method: 'add'; readonly webhook: NewWebhook }
  | { readonly method: 'change'; readonly id: string; readonly changes: WebhookChanges }
  | { readonly method: 'replay'; readonly id: string; readonly from: ReplayFrom }
  | { readonly method: 'remove' | 'status' | 'deliveries' | 'lastDelivery' | 'test'; readonly id: string };

/** `known` is what the webhook is now, so that the hub that asked need not wait for its watch. */
export interface CallAnswer {
  readonly id: string;
  readonly result: unknown;
  readonly known: KnownRegistration | undefined;
}

/** Carries out a call at the hub that has the webhook. */
export async function performed(held: HeldShard, call: WebhookCall): Promise<Pick<CallAnswer, 'id' | 'result'>> {
  if (call.method === 'add') return { id: await held.add(call.webhook), result: null };
  return { id: call.id, result: (await resultOf(held, call)) ?? null };
}

async function resultOf(held: HeldShard, call: Exclude<WebhookCall, { method: 'add' }>): Promise<unknown> {
  const { id } = call;
  switch (call.method) {
    case 'change':
      return held.change(id, call.changes);
    case 'replay':
      return held.replay(id, call.from);
    case 'remove':
      return held.remove(id);
    default:
      return held.reading[call.method](id);
  }
}

export function answerFromJson(json: unknown): CallAnswer {
  const { id, result, known } = json as CallAnswer;
  return { id, result, known: known && { ...known, registration: registrationFromJson(known.registration) } };
}

export function answerToJson({ known, ...others }: CallAnswer): unknown {
  return { ...others, known: known && { ...known, registration: registrationToJson(known.registration) } };
}
