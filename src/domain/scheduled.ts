import type { HeldFile } from './approval.ts';
import type { ServiceChoice } from './send-service.ts';

/** The states of a scheduled send (decision X1). From `sent` on, they are final. */
export const SCHEDULED_STATES = [
  'scheduled',
  /** Handed to Messages, or about to be: it cannot be cancelled any more. */
  'sending',
  'sent',
  'failed',
  /** Nobody knows whether it went out. */
  'unknown',
  /** Its time was over before it could be sent. */
  'missed',
  'cancelled',
] as const;
export type ScheduledState = (typeof SCHEDULED_STATES)[number];

/** `phone`: Send Later of Messages itself, which is only shown. */
export const SCHEDULED_SOURCES = ['postern', 'phone'] as const;
export type ScheduledSource = (typeof SCHEDULED_SOURCES)[number];

/** A message that waits for its time, or its end. */
export interface ScheduledSend {
  readonly id: string;
  readonly source: ScheduledSource;
  /** `owner`, or the id of the limited key that asked; null for one of the phone. */
  readonly key_id: string | null;
  readonly state: ScheduledState;
  /** The address or conversation id that it goes to. */
  readonly to: string;
  /** null once it ended. */
  readonly text: string | null;
  readonly attachments: readonly HeldFile[];
  readonly service?: ServiceChoice | undefined;
  readonly fallback?: 'sms' | undefined;
  readonly send_at: string;
  /** Afterwards it is missed; null for one of the phone. */
  readonly send_until: string | null;
  readonly created_at: string | null;
  readonly ended_at: string | null;
  /** Row id of the message, once it was seen. */
  readonly message_id: string | null;
  /** Code of the problem that ended it. */
  readonly problem: string | null;
}

/** Returns true when nothing will happen to it any more. */
export function isOver({ state }: Pick<ScheduledSend, 'state'>): boolean {
  return state !== 'scheduled' && state !== 'sending';
}
