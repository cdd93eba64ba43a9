import * as z from 'zod';
import { SERVICE_CHOICES, type SendChoices } from '../model/send-service.ts';

/** The schemas of what a send may choose (decision X3), in a request and in the records of the send. */
export const SEND_CHOICES = {
  service: z
    .enum(SERVICE_CHOICES, { error: `\`service\` must be one of ${SERVICE_CHOICES.join(', ')}.` })
    .optional()
    .meta({
      description:
        '`auto`: the service of the existing conversation, else of the newest outgoing message, else iMessage.',
    }),
  fallback: z.literal('sms', { error: '`fallback` must be "sms".' }).optional().meta({
    description: 'Resends by SMS if the first service sent nothing, or if Messages marked the message as failed.',
  }),
} satisfies Record<keyof SendChoices, z.ZodType>;
