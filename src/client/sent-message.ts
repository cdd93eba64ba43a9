import type { Message } from '../core/model/message.ts';
import type { HeldSend, SentMessage } from './options.ts';
import { has, notPostern, onlyDryRun, parsed } from './postern-error.ts';
import type { Requests } from './request.ts';

/**
 * Returns the sent message, or the held send if the message waits for approval. Throws a PosternError if the send was
 * only a dry run.
 */
export function sentMessage(
  { text, status, header }: Awaited<ReturnType<Requests['request']>>,
  address: string,
): SentMessage | HeldSend {
  const value = parsed(text);
  if (has(value, 'would')) throw onlyDryRun(status);
  if (!has(value, 'guid') && !has(value, 'approval')) throw notPostern(status, address);
  return { ...(value as Message | HeldSend), ...(header('idempotent-replayed') === 'true' && { replayed: true }) };
}
