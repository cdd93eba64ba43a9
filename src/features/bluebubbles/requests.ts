import * as z from 'zod';
import { webhookUrl } from '../../core/http/webhooks/schema.ts';
import { list, NOT_AN_OBJECT, text } from '../../core/schema/text.ts';

// Bodies of requests to the part of BlueBubbles' REST API v1 that Postern offers (decision Y2). Unknown members are
// ignored, as BlueBubbles itself ignores them.

// An empty id identifies nothing: by it, a second equal message would count as a repeat of the first.
const tempGuid = z
  .string({ error: '`tempGuid` must be a string.' })
  .max(1000)
  .nullish()
  .transform((id) => id || null);
const optionalText = (name: string) => z.string({ error: `\`${name}\` must be a string.` }).nullish();
/** A number, or the text of one, which BlueBubbles takes too. */
const count = (name: string) =>
  z.preprocess(
    (given) => (typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given),
    z
      .int({ error: `\`${name}\` must be a whole number.` })
      .min(0)
      .nullish(),
  );

/** `POST /webhook`. */
export const blueBubblesWebhook = z.object(
  {
    url: webhookUrl,
    events: list('`events`', text('An event', 100), 64).min(1, 'There must be at least one event.'),
  },
  NOT_AN_OBJECT,
);

/** `POST /chat/query`. */
export const blueBubblesChats = z.object({ limit: count('limit'), offset: count('offset') }, NOT_AN_OBJECT);

/** `POST /chat/new`. */
export const blueBubblesNewChat = z.object(
  {
    addresses: list('`addresses`', text('An address', 512), 100).min(1, 'There must be an address.'),
    message: optionalText('message'),
    tempGuid,
  },
  NOT_AN_OBJECT,
);

/** `POST /message/text`. */
export const blueBubblesText = z.object(
  {
    chatGuid: text('`chatGuid`', 512),
    message: z.string({ error: '`message` must be a string.' }),
    tempGuid,
  },
  NOT_AN_OBJECT,
);

/** The form fields of `POST /message/attachment`, besides the file. */
export const blueBubblesFile = z.object(
  {
    chatGuid: text('`chatGuid`', 512),
    name: optionalText('name'),
    caption: optionalText('caption'),
    message: optionalText('message'),
    text: optionalText('text'),
    tempGuid,
  },
  NOT_AN_OBJECT,
);

/** Members of a send that only the private API can carry out. */
const PRIVATE_MEMBERS = ['effectId', 'subject', 'selectedMessageGuid', 'attributedBody', 'textFormatting', 'mentions'];

/** Returns the names of the members of a valid body that need the private API, and ask for something. */
export function privateMembers(body: unknown): readonly string[] {
  return PRIVATE_MEMBERS.filter((name) => {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    return value !== undefined && value !== null && value !== '' && value !== false && !isEmpty;
  });
}
