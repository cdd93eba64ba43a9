import type { KeptFile } from '../core/model/kept-file.ts';
import type { SendChoices } from '../core/model/send-service.ts';

/** The states of a scheduled send. `sent` and all states after it are final. */
export const SCHEDULED_STATES = [
  'scheduled',
  /** Handed to Messages or about to be; cannot be cancelled any longer. */
  'sending',
  'sent',
  'failed',
  /** It is unknown whether the message was sent. */
  'unknown',
  /** The message could not be sent before its latest time to send had passed. */
  'missed',
  'cancelled',
] as const;
export type ScheduledState = (typeof SCHEDULED_STATES)[number];

/**
 * Origin of a scheduled message. `phone`: scheduled with Send Later in Messages itself. Postern lists such messages,
 * but can neither change nor cancel them.
 */
export const SCHEDULED_SOURCES = ['postern', 'phone'] as const;
export type ScheduledSource = (typeof SCHEDULED_SOURCES)[number];

/** A scheduled message, or its outcome. */
export interface ScheduledSend extends SendChoices {
  readonly id: string;
  readonly source: ScheduledSource;
  /** `owner`, or the id of the limited key that scheduled it; null for a message scheduled on the phone. */
  readonly key_id: string | null;
  readonly state: ScheduledState;
  /** The recipient's address or conversation id. */
  readonly to: string;
  /** The text to send; null once the send has ended, because the text is then erased. */
  readonly text: string | null;
  readonly attachments: readonly KeptFile[];
  readonly send_at: string;
  /** Latest time to send; after it the state becomes `missed`. Null for a message scheduled on the phone. */
  readonly send_until: string | null;
  readonly created_at: string | null;
  readonly ended_at: string | null;
  /** Row id of the sent message; null until its row was found in chat.db. */
  readonly message_id: string | null;
  /** Code of the problem that ended the send; null if there was none. */
  readonly problem: string | null;
}
