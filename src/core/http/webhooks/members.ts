import * as z from 'zod';
import { FAILURE_MODES, type WebhookFilter } from '../../model/webhook.ts';
import { MAX_HEADERS } from '../../model/webhook-settings.ts';
import { narrowingMembers } from '../../schema/narrowing-parameters.ts';
import { shapeOf } from '../../schema/shape.ts';
import { list, text } from '../../schema/text.ts';

const MAX_LISTED = 200;
/**
 * Headers that a webhook must not set, because Postern sets them in every delivery or they belong to the connection.
 */
const OURS =
  /^(?:x-webhook-.*|webhook-.*|content-.*|proxy-.*|accept|accept-encoding|connection|date|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/i;

export const webhookName = text('`name`', 64)
  .refine((value) => value.trim() !== '' && !/\p{Cc}/u.test(value), {
    error: '`name` must not be blank and must not contain control characters.',
  })
  .meta({ description: 'A name for people.' });

export const enabled = z.boolean({ error: '`enabled` must be true or false.' }).meta({
  description: 'false stops deliveries and keeps the position; the backlog follows once it is enabled again.',
});

export const onFailure = z
  .enum(FAILURE_MODES, { error: `\`on_failure\` must be one of ${FAILURE_MODES.join(', ')}.` })
  .meta({
    description:
      '`drop`: a delivery is given up after its third failure. `hold`: it is retried until it succeeds, at intervals that grow from 10 s to 5 min.',
  });

/**
 * Returns the schema of a webhook's additional headers (decision P2). Mistakes never quote the headers' values, which
 * may be secret.
 */
export function ownHeaders<Value extends z.ZodType>(value: Value) {
  return z
    .record(z.string(), value, { error: '`headers` must be a JSON object of names and values.' })
    .superRefine((headers, context) => {
      const names = Object.keys(headers);
      const mistake = (name: string, message: string): void => {
        context.addIssue({ code: 'custom', path: [name], message, input: name });
      };
      if (names.length > MAX_HEADERS) {
        context.addIssue({ code: 'custom', message: `\`headers\` must have at most ${MAX_HEADERS} items.` });
        return;
      }
      for (const [index, name] of names.entries()) {
        const lower = name.toLowerCase();
        if (!/^[a-z0-9][!#$%&'*+.^_`|~0-9a-z-]{0,127}$/i.test(name)) {
          mistake(
            name,
            'The name of a header must begin with a letter or a digit, and have at most 128 characters that HTTP allows.',
          );
        } else if (OURS.test(name)) {
          mistake(name, `The header \`${name}\` cannot be set, because Postern or the connection sets it.`);
        } else if (names.findIndex((other) => other.toLowerCase() === lower) !== index) {
          mistake(name, `The header \`${name}\` is given twice.`);
        }
      }
    })
    .meta({
      description: `Sent with each delivery, at most ${MAX_HEADERS}, such as Authorization. Values are never shown again.`,
      maxProperties: MAX_HEADERS,
      writeOnly: true,
    });
}

const VALUE = 'The value of a header must be 1 to 4096 printable ASCII characters without a space at either end.';
export const headerValue = z
  .string({ error: VALUE })
  .refine((value) => /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/.test(value), VALUE);

function listed(what: string, item: z.ZodType<string>) {
  return list(what, item, MAX_LISTED).min(1, `${what} must have at least one item.`).readonly().optional();
}

const FILTER_MEMBERS = {
  conversation_ids: listed(
    '`conversation_ids`',
    text('A conversation id', 512).refine((id) => /^[^;]*;[-+];./.test(id), {
      error: 'A conversation id looks like any;-;+15550100 or any;+;chat1234.',
    }),
  ).meta({ description: 'Conversations, by any variant of their ids.' }),
  senders: listed(
    '`senders`',
    text('A sender', 320).refine((sender) => sender.trim() !== '', 'A sender must not be blank.'),
  ).meta({ description: 'Addresses of those who wrote or reacted.' }),
  is_from_me: z
    .boolean({ error: '`is_from_me` must be true or false.' })
    .optional()
    .meta({ description: 'true: only outgoing messages. false: only incoming ones.' }),
  ...narrowingMembers,
};

/** A webhook's conditions on events, in addition to their types (decision P4). */
export const webhookFilter = shapeOf<WebhookFilter>()(
  z
    .strictObject(FILTER_MEMBERS, {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `\`filter\` can have ${listedNames()}, not ${issue.keys.map((key) => JSON.stringify(key.slice(0, 40))).join(', ')}.`
          : '`filter` must be a JSON object.',
    })
    .meta({ description: 'Only events that meet every condition are delivered.' }),
);

function listedNames(): string {
  return new Intl.ListFormat('en-GB').format(Object.keys(FILTER_MEMBERS).map((name) => `\`${name}\``));
}
