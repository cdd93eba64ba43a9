import * as z from 'zod';
import { APPROVAL_STATES, type Approval } from '../../../client/access-types.ts';
import { namesSchema } from '../../../core/schema/names-schema.ts';
import { wait } from '../../../core/schema/query-parameters.ts';
import { SEND_CHOICES } from '../../../core/schema/send-choices.ts';
import { shapeOf } from '../../../core/schema/shape.ts';
import { NOT_AN_OBJECT } from '../../../core/schema/text.ts';

/** A send that was held for approval, in any state. */
export const approvalSchema = shapeOf<Approval>()(
  z
    .object({
      id: z.string(),
      key_id: z.string(),
      state: z.enum(APPROVAL_STATES),
      to: z.string().meta({ description: 'The address or conversation id that the message goes to.' }),
      members: z
        .array(z.string())
        .readonly()
        .meta({ description: 'The addresses of everyone who would receive the message.' }),
      text: z.string().nullable().meta({ description: 'null once the approval has ended.' }),
      attachments: z.array(z.object({ name: z.string(), bytes: z.int(), sha256: z.string() })).readonly(),
      ...SEND_CHOICES,
      send_at: z.string().optional(),
      send_until: z.string().optional(),
      created_at: z.string(),
      expires_at: z.string(),
      decided_at: z.string().nullable(),
      decided_by: z.string().nullable(),
      message_id: z.string().nullable(),
      problem: z.string().nullable(),
      shown: z.string().optional().meta({
        description: 'Hash of the content to decide on, needed to approve it. Only for callers who may decide.',
      }),
      names: namesSchema.optional(),
      new_contact: z.boolean().optional().meta({
        description:
          'True if the owner has never written to this recipient. Only for held sends, with `include=contacts`.',
      }),
    })
    .meta({ id: 'Approval' }),
);

/** Body of the 202 answer to a send that waits for approval. */
export const heldSendSchema = z
  .object({
    approval: approvalSchema,
    console: z.string().meta({ description: 'Path, on this service, of the page where the owner decides.' }),
  })
  .meta({ id: 'HeldSend' });

/** Parameters of `GET /approvals/{id}`. */
export const approvalQuery = z.object({ wait });

/**
 * Parameters of `GET /approvals`. With `wait`, the list is empty only if no approval appears within that many seconds.
 */
export const approvalsQuery = z.object({
  state: z
    .enum(APPROVAL_STATES, { error: `The parameter \`state\` must be one of ${APPROVAL_STATES.join(', ')}.` })
    .optional(),
  wait,
  include: z
    .literal('contacts', { error: 'The parameter `include` must be "contacts".' })
    .optional()
    .meta({ description: '`contacts` adds names of people, and whether the owner has ever written to the recipient.' }),
});

/** Body of `POST /approvals/{id}/approve`. */
export const approveBody = z
  .object(
    {
      shown: z.string({ error: '`shown` is missing. Send the value that `shown` has in the approval that you read.' }),
    },
    NOT_AN_OBJECT,
  )
  .meta({ id: 'ApprovalDecision' });
