import * as z from 'zod';
import { CANARY_STATES } from './text.ts';

/** The member `canary` of the status. */
export const canarySchema = z.object({
  state: z.enum(CANARY_STATES).meta({
    description:
      '`address_unproved`: nothing is sent before the conversation is proved. `unproved`: no canary has arrived ' +
      'on this Mac yet, or the last one has no copy, which alone proves nothing. `arriving`: the last canary arrived. ' +
      '`push_dead`: three canaries in a row did not arrive within ten minutes, and no other message came in. `not_sent`: the last canary could not be sent. `unknown`: it is unknown whether the last canary ' +
      'was sent. More values may follow.',
  }),
  sent_at: z.string().nullable().meta({ description: 'When the last canary was sent.' }),
  arrived_at: z.string().nullable().meta({ description: 'When a canary last arrived.' }),
  delay_ms: z.int().nullable().meta({
    description:
      'For the canary that last arrived: milliseconds between sending and arrival. Null if Postern was restarted in between.',
  }),
  push_dead_since: z
    .string()
    .nullable()
    .meta({ description: 'While canaries do not arrive: when the first of them was sent. Otherwise null.' }),
  problem: z
    .string()
    .nullable()
    .meta({ description: 'Code of the problem for which the last canary could not be sent.' }),
});
