import { createHash } from 'node:crypto';
import { rendered, sendBody } from '../../core/http/messages/schema.ts';
import { chatIdentity } from '../../core/model/address.ts';
import type { Caller } from '../../core/model/caller.ts';
import type { Message } from '../../core/model/message.ts';
import type { Counters } from '../../core/runtime/counters.ts';
import { countedSend } from '../../core/runtime/send-counter.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import type { WireRequest } from './wire.ts';

export interface WireSend {
  /** An address or a chat guid, as the client wrote it. */
  readonly recipient: string;
  readonly text: string;
  readonly tempGuid: string | null;
}

/** The sent message, or why the message was held or not sent. A failure is thrown as an AppError. */
export type WireSendAnswer = { readonly sent: Message } | { readonly refused: string };

/** Sends a message. Returns a held send and a dry run as refused, because the protocol knows neither. */
export async function sendFor(request: WireRequest, send: WireSend, counters: Counters): Promise<WireSendAnswer> {
  const { caller, files, requestId } = request;
  const { text, tempGuid } = send;
  const recipient = await recipientOf(caller, send.recipient);
  const ids = files.map(({ id }) => id);
  const body = readBody(sendBody, { recipient, body: text, ...(ids.length > 0 && { attachment_ids: ids }) });
  const { attachment_ids: _ids, attachments: _paths, dry_run: _dryRun, ...message } = await rendered(body);
  const key = keyOf(request, send);
  const answer = await countedSend(
    caller.sender.send({
      ...message,
      attachments: [],
      requestId,
      ...(files.length > 0 && { uploads: files }),
      ...(tempGuid !== null && { idempotencyKey: { kind: 'client', key } as const }),
    }),
    counters,
  );
  switch (answer.kind) {
    case 'sent':
      return { sent: answer.message };
    case 'dry_run':
      return { refused: 'Nothing was sent: every send with this key is a dry run.' };
    case 'deferred':
      return { refused: answer.deferred.notice ?? answer.deferred.told.text };
  }
}

/**
 * Returns the recipient that a chat guid stands for. Clients write `iMessage;-;` before every address, so the prefix is
 * only a default: the address counts, unless another conversation with it is newer than the one of this guid (decision
 * AB8).
 */
async function recipientOf({ reader }: Caller, guid: string): Promise<string> {
  const { service, style, identifier } = chatIdentity(guid) ?? {};
  if (identifier === undefined || style !== '-' || service?.toLowerCase() !== 'imessage') return guid;
  const exact = await reader.conversation(guid);
  const newest = await reader.conversation(`any;-;${identifier}`);
  return exact?.id === guid && newest?.id !== guid ? guid : identifier;
}

/**
 * Returns an idempotency key made of the content and `tempGuid`, the id that the client chose for the send. `tempGuid`
 * alone is not enough, because some clients use the same id for several sends.
 */
function keyOf({ files }: WireRequest, { recipient, text, tempGuid }: WireSend): string {
  const content = [tempGuid, recipient, text, files.map(({ sha256 }) => sha256)];
  return `bluebubbles-${createHash('sha256').update(JSON.stringify(content)).digest('hex')}`;
}
