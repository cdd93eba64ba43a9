import type { ProblemText } from './problem-text.ts';

/** Problems of converted attachments (decision K4). */
export const ATTACHMENT_PROBLEMS = {
  not_on_this_mac: {
    status: 409,
    detail: 'The file is only in iCloud.',
    hint: 'Open the conversation in Messages on this Mac, which downloads it, then try again.',
  },
  conversion_unavailable: {
    status: 501,
    detail: 'This file cannot be converted here.',
    hint: 'Pictures become jpeg and recordings m4a, if the converter is installed. Ask for the original file instead.',
  },
  conversion_busy: {
    status: 503,
    detail: 'Too many files are waiting to be converted.',
    hint: 'Try again in a few seconds.',
  },
} as const satisfies Readonly<Record<string, ProblemText>>;
