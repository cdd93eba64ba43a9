import type { Config } from '../../core/config/config.ts';
import type { Port } from '../../core/model/port.ts';
import type { OwnerQuestion, Questions } from './ports.ts';
import type { SelfChat } from './self-chat.ts';

export interface SelfChatService {
  readonly chat: SelfChat;
  readonly tapbacks: {
    /** The address at which the owner decides by tapback, whose conversation no key may use; "" for none. */
    readonly address: string;
    /** From now on, asks the open questions and lets tapbacks decide them, once the self-chat is proved. */
    start(questions: Questions): void;
    /** Asks a new question, if `start` was called. */
    ask(question: OwnerQuestion): void;
    /** Resolves once nothing is being asked or decided. */
    close(): Promise<void>;
  };
}

/** Nobody but the owner may prove or use the self-chat. */
export const SELF_CHAT: Port<SelfChatService> = { name: 'the self-chat', narrow: () => undefined };

/** Returns the owner's own address; "" for none. */
export function ownAddressIn({ features }: Pick<Config, 'features'>): string {
  const address = features['self-chat']?.address;
  return typeof address === 'string' ? address : '';
}

export type { OwnerQuestion, ProvedSelfChat, Questions } from './ports.ts';
export { selfChatProblem } from './problems.ts';
