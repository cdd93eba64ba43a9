// The state of the view: a conversation, the box for a new message, or neither.

import { signal } from '@preact/signals';
import type { Conversation } from '../../../../core/model/conversation.ts';
import type { Entry } from '../../service/directory.ts';

/** The state of the view. `conversation` is undefined until it has been read. */
export interface Opened {
  readonly id?: string;
  readonly isNew: boolean;
  readonly conversation?: Conversation | undefined;
}

export const openState = signal<Opened>({ isNew: false });

/** A phone shows one part of the view at a time. */
export const PHONE = matchMedia('(max-width: 760px)');

/** The chosen person or group of a new message. */
export const recipient = signal<Entry | undefined>(undefined);
