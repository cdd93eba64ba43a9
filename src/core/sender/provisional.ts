import { isoSecond } from '../model/iso-second.ts';
import type { Message } from '../model/message.ts';
import type { SendRequest } from '../model/ports/sending-ports.ts';

/** Returns the message of the answer to a send whose row has not been found (decision D6). */
export function provisional({ body, attachments }: SendRequest, nowMs: number): Message {
  return {
    id: '',
    guid: '',
    conversation_id: '',
    // `me` stands in for the owner's address, which only the row contains (decision B3).
    sender: 'me',
    body,
    attachments,
    timestamp: isoSecond(nowMs),
    is_from_me: true,
    status: 'pending',
  };
}
