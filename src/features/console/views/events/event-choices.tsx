// The choices of the events' Mac, where the service has several, and of their conversation.

import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { nameIn } from '../../service/directory.ts';
import type { Taken } from '../../service/live.ts';
import { macs } from '../../service/service.ts';
import { conversationIdOf, conversationName } from './event-words.ts';

export const MacChoice = ({ chosen }: { readonly chosen: Signal<string> }): VNode | null =>
  macs().length < 2 ? null : (
    <select
      class="input"
      aria-label="Mac"
      value={chosen.value}
      onChange={({ currentTarget: { value } }) => {
        chosen.value = value;
      }}
    >
      <option value="">All Macs</option>
      {macs().map(({ id }) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );

interface ConversationProps {
  readonly events: readonly Taken[];
  readonly chosen: Signal<string>;
}

/** Lets somebody choose one of the conversations that the events are about. */
export function ConversationChoice({ events, chosen }: ConversationProps): VNode {
  const names = new Map<string, string>();
  for (const { event } of events) {
    const id = conversationIdOf(event);
    if (id !== undefined && !names.has(id)) names.set(id, conversationName(event, nameIn));
  }
  return (
    <select
      class="input"
      aria-label="Conversation"
      value={chosen.value}
      onChange={({ currentTarget }) => {
        chosen.value = currentTarget.value;
      }}
    >
      <option value="">All conversations</option>
      {[...names].map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
