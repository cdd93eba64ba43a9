import * as z from 'zod';

export const MAX_WATCH_SECONDS = 120;

const SECONDS_MISTAKE = `The parameter \`seconds\` must be a whole number from 0 to ${MAX_WATCH_SECONDS}.`;

/** Parameters of `POST /diagnostics`. */
export const diagnosticsQuery = z.object({
  seconds: z
    .string()
    .refine((text) => /^\d{1,3}$/.test(text) && Number(text) <= MAX_WATCH_SECONDS, SECONDS_MISTAKE)
    .transform(Number)
    .optional()
    .meta({
      type: 'integer',
      minimum: 0,
      maximum: MAX_WATCH_SECONDS,
      default: 30,
      description: 'How long to watch chat.db for changes.',
    }),
  ask: z
    .enum(['messages'], { error: 'The parameter `ask` must be "messages".' })
    .optional()
    .meta({ description: 'Also asks Messages for its accounts and chats; macOS may prompt the user first.' }),
});
