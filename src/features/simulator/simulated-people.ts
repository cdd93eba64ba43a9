import { HOUR_MS } from '../../core/model/durations.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import type { Cancel, Clock } from '../../core/model/ports/host-ports.ts';
import { isSelfChat } from './own-messages.ts';
import type { Messages } from './simulated-messages.ts';
import { ANA, BEN, CHO, GARDEN, HISTORY, LATER, STORY } from './story.ts';
import { StoryTeller } from './story-teller.ts';

/** Interval of the messages that Ana writes unprompted after the story. */
const WRITE_EVERY_MS = 600_000;
const SOON_MS = 3000;
const ANSWER_AFTER_MS = 1200;
const REACT_AFTER_MS = 600;

const ANSWERS = [
  'Got it, thanks!',
  'Ha, good one.',
  'Sounds good to me 👍',
  'Let me check and come back to you.',
  'Yes. And how did you send that?',
];

/** Love, like, emphasis, laugh. A dislike would contradict most of the answers. */
const REACTIONS = [2000, 2001, 2004, 2003] as const;

/**
 * Key: a text. Value: the answer to that text, always the same, so that programs tried out against the demo can rely on
 * it.
 */
const KEYWORDS: Readonly<Record<string, string | undefined>> = lookupTable({
  ping: 'pong',
  hello: 'Hello! How are you?',
  thanks: 'Any time.',
});

/**
 * A few simulated people. They have a history, tell a story once, and answer messages. After the story, Ana writes now
 * and then.
 */
export class SimulatedPeople {
  readonly #messages: Messages;
  readonly #clock: Clock;
  readonly #isQuiet: boolean;
  #teller: StoryTeller | undefined;
  #turn = 0;
  #answers = 0;
  #cancel: Cancel | undefined;

  /** With `isQuiet`, nobody writes unprompted after the story. */
  constructor(messages: Messages, clock: Clock, { isQuiet = false }: { readonly isQuiet?: boolean } = {}) {
    this.#messages = messages;
    this.#clock = clock;
    this.#isQuiet = isQuiet;
  }

  /** Writes the history and tells the story if chat.db has no messages. Otherwise Ana soon writes her next message. */
  start(): void {
    if (this.#messages.database.newestRow() !== 0) {
      this.#later(SOON_MS);
      return;
    }
    this.#writeHistory();
    this.tell();
  }

  /** Plays the story from its beginning. */
  tell(): void {
    this.stop();
    this.#teller = this.#newTeller();
    this.#step(0);
  }

  stop(): void {
    this.#cancel?.();
  }

  /** Makes a person in the chat react to a message and answer it. */
  answer(chat: number, row: number, text: string): void {
    const { database } = this.#messages;
    if (isSelfChat(database, chat)) return;
    const address = database.sqlite
      .prepare('SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id WHERE j.chat_id = ? LIMIT 1')
      .get(chat)?.[0];
    if (typeof address !== 'string') return;
    const answer = this.#answerTo(text.trim());
    this.#answers += 1;
    const now = (): { from: string; dateMs: number } => ({ from: address, dateMs: this.#clock.now() });
    this.#messages.later(REACT_AFTER_MS, row, () =>
      database.reaction(chat, row, { ...now(), type: REACTIONS[this.#answers % REACTIONS.length] ?? 2000 }),
    );
    this.#messages.later(ANSWER_AFTER_MS, row, () => database.joinedMessage(chat, { ...now(), text: answer }));
  }

  #answerTo(text: string): string {
    const known = KEYWORDS[text.toLowerCase()];
    if (known !== undefined) return known;
    return text.endsWith('?') ? 'Good question. I would say yes.' : (ANSWERS[this.#answers % ANSWERS.length] ?? '');
  }

  #step(index: number): void {
    const step = STORY[index];
    if (step === undefined) {
      this.#later(WRITE_EVERY_MS);
      return;
    }
    const { database } = this.#messages;
    this.#cancel = this.#clock.after(step.at * 1000, () => {
      if (database !== this.#messages.database) {
        this.#later(WRITE_EVERY_MS); // chat.db was replaced, without the story's rows
        return;
      }
      this.#teller?.perform(step, this.#clock.now());
      this.#step(index + 1);
    });
  }

  #later(ms: number): void {
    if (this.#isQuiet) return;
    this.#cancel = this.#clock.after(ms, () => {
      const { database } = this.#messages;
      const text = LATER[this.#turn % LATER.length] ?? '';
      this.#turn += 1;
      database.joinedMessage(database.directChat(ANA), { text, from: ANA, dateMs: this.#clock.now() });
      this.#later(WRITE_EVERY_MS);
    });
  }

  #writeHistory(): void {
    const nowMs = this.#clock.now();
    const teller = this.#newTeller({ isRead: true });
    for (const step of HISTORY) teller.perform(step, nowMs - step.at * HOUR_MS);
    this.#messages.database.analyze();
  }

  #newTeller(options: { readonly isRead?: boolean } = {}): StoryTeller {
    const { database } = this.#messages;
    const guid = database.chatGuid(GARDEN, '+');
    const garden = database.findChat(guid) ?? database.chat(guid, [ANA, BEN, CHO], { display_name: 'Garden' });
    return new StoryTeller(this.#messages, garden, options);
  }
}
