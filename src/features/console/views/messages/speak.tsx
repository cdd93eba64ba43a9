// "Speak as …": lets the user write and react as one of a demo's simulated people. Hidden on every service that is not
// a demo.

import { signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { Button, IconButton } from '../../parts/parts.tsx';
import { call } from '../../service/api.ts';
import { isDemo } from '../../service/service.ts';
import { personOf, reasonOf } from '../../service/words.ts';
import { openState } from './open-state.ts';
import { thread } from './thread.tsx';

const REACTIONS = [
  ['love', 'love', '❤️'],
  ['like', 'like', '👍'],
  ['dislike', 'dislike', '👎'],
  ['laugh', 'laugh', '😂'],
  ['🎉', 'party', '🎉'],
] as const;

const chosen = signal('');
const isOpen = signal(false);
/** The reason why an action failed, in the conversation in which it did. */
const failure = signal<{ readonly id: string; readonly text: string }>({ id: '', text: '' });
const speech = createRef<HTMLInputElement>();

/** Returns the person to speak as: the chosen one, otherwise the first. */
function speaker(): string {
  const { participants = [] } = openState.value.conversation ?? {};
  return participants.includes(chosen.value) ? chosen.value : (participants[0] ?? '');
}

function fail(text: string): void {
  failure.value = { id: thread.openId, text };
}

/** Asks the demo for an action. Reports whether it was carried out. */
async function perform(what: 'say' | 'react', body: Readonly<Record<string, unknown>>): Promise<boolean> {
  try {
    await call(`demo/${what}`, { method: 'POST', body: { from: speaker(), ...body } });
    fail('');
    return true;
  } catch (error) {
    fail(reasonOf(error));
    return false;
  }
}

async function react(reaction: string): Promise<void> {
  if (thread.lastId === undefined) fail('There is no message to react to.');
  else await perform('react', { message_id: thread.lastId, reaction });
}

async function say(): Promise<void> {
  const text = speech.current?.value;
  const isSaid = await perform('say', { text, conversation_id: thread.openId });
  if (isSaid && speech.current !== null) speech.current.value = '';
}

/** Reports whether the open conversation has somebody who can be made to speak. */
const canSpeak = (): boolean => isDemo() && (openState.value.conversation?.participants ?? []).length > 0;

/** The button that shows and hides the form. Absent if nobody can be made to speak. */
export const SpeakToggle = (): VNode | null =>
  canSpeak() ? (
    <IconButton
      icon="people"
      label="Speak as …"
      aria-expanded={isOpen.value}
      run={() => {
        isOpen.value = !isOpen.value;
      }}
    />
  ) : null;

export function SpeakBox(): VNode {
  const { id, conversation } = openState.value;
  const { participants = [], names } = conversation ?? {};
  return (
    <section id="speak" aria-label="Speak as" hidden={!canSpeak() || !isOpen.value}>
      <form
        id="speak-form"
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void say();
        }}
      >
        <div class="row wrap">
          <select
            id="speaker"
            class="input"
            aria-label="Speak as"
            value={speaker()}
            onChange={({ currentTarget }) => {
              chosen.value = currentTarget.value;
            }}
          >
            {participants.map((address) => (
              <option key={address} value={address}>
                {personOf(address, names)}
              </option>
            ))}
          </select>
          <input
            id="speech"
            ref={speech}
            class="input grow"
            required
            maxLength={20_000}
            autocomplete="off"
            placeholder="What they write"
            aria-label="What they write"
            dir="auto"
          />
          <button type="submit" class="btn">
            Say
          </button>
        </div>
        <Reactions />
        <p id="speak-result" class="hint" role="status">
          {failure.value.id === id ? failure.value.text : ''}
        </p>
      </form>
    </section>
  );
}

const Reactions = (): VNode => (
  <fieldset class="row wrap">
    <legend class="unseen">React to the last message</legend>
    {REACTIONS.map(([reaction, label, text]) => (
      <Button key={reaction} kind="mini" data-reaction={reaction} aria-label={label} run={() => react(reaction)}>
        {text}
      </Button>
    ))}
  </fieldset>
);
