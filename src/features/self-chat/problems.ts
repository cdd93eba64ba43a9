import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems of the proof (decision L6). Key: the problem's name. */
export const SELF_CHAT_PROBLEMS = {
  self_chat_disabled: {
    status: 404,
    detail: 'No address of yours is configured, so there is no conversation to prove.',
    hint: 'Set self.address in config.toml to your own address and restart Postern.',
  },
  self_chat_unknown: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'According to chat.db, the configured address is not one of yours.',
    hint: 'Nothing was written. Use an address that Messages lists under Settings ▸ iMessage, and first write yourself a message at that address.',
  },
  self_chat_unseen: {
    status: 503,
    mayHaveBeenSent: true,
    detail: 'The code was not seen in the conversation with yourself.',
    hint: 'Check in Messages whether the code arrived, then ask for another code. If none arrives, configure another of your addresses: on some versions of macOS not every address works.',
  },
  self_chat_full: {
    status: 429,
    detail: 'Postern wrote 20 messages into the conversation with yourself within an hour: try again in {seconds} s.',
    hint: 'Nothing was written. The console and "postern approvals list" show the sends that wait for a decision.',
    example: { seconds: 1800 },
  },
  code_wrong: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'This is not the code, or it is too old.',
    hint: 'Ask for another code. A code is good for 10 minutes and five attempts.',
  },
} as const;

export const selfChatProblem: MakeProblem<typeof SELF_CHAT_PROBLEMS> = problemsOf(SELF_CHAT_PROBLEMS);
