import * as z from 'zod';
import {
  APPROVAL_MODES,
  type Caps,
  type KeyCheck,
  type KeyRecord,
  type KeyRevocation,
  maxCap,
  PRESETS,
} from '../../../client/key-types.ts';
import { callbackHost } from '../../../core/model/callback-hosts.ts';
import type { ClientLines } from '../../../core/model/client-lines.ts';
import { NS_PER_MS } from '../../../core/model/durations.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import { MAX_WAIT_S, SCOPES } from '../../../core/model/key.ts';
import { parseInstant } from '../../../core/schema/instant.ts';
import { shapeOf } from '../../../core/schema/shape.ts';
import { list, NOT_AN_OBJECT, text } from '../../../core/schema/text.ts';
import { keyUseSchema } from './key-use-schema.ts';

const MAX_ENTRIES = 200;
const MAX_CALLBACK_HOSTS = 20;
const caps = z.object({ per_minute: z.int(), per_day: z.int(), new_contacts_per_day: z.int() });
const AS_CLOSED = { error: 'A closed group has `conversation_id` and `joined`, a list of addresses.' };
const closedGroup = z.object(
  { conversation_id: z.string(AS_CLOSED), joined: z.array(z.string(AS_CLOSED), AS_CLOSED).readonly() },
  AS_CLOSED,
);
const access = z.union([z.literal('*'), z.array(z.string()).readonly()]);

/** A key without its secret (decision L1). */
export const keySchema = shapeOf<KeyRecord>()(
  z
    .object({
      id: z.string(),
      name: z.string(),
      scopes: z.array(z.enum(SCOPES)).readonly(),
      read: access.meta({
        description: 'Whose messages it may read: addresses and conversation ids, or `*` for everyone.',
      }),
      send: access.meta({ description: 'Whom it may write to, in the same form.' }),
      approval: z.enum(APPROVAL_MODES),
      caps: caps.nullable(),
      remaining: caps.nullable().meta({ description: 'The unused part of the caps.' }),
      dry_run: z.boolean(),
      created_at: z.string(),
      expires_at: z.string().nullable(),
      callback_hosts: z
        .array(z.string())
        .readonly()
        .meta({ description: 'Hosts besides this machine that its webhooks may post to.' }),
      max_wait_s: z.int().meta({ description: 'Seconds that one of its requests may wait.' }),
      last_used_at: z.string().nullable(),
      closed: z
        .array(closedGroup)
        .readonly()
        .meta({ description: 'Groups closed for sending because somebody joined after the owner listed them.' }),
      revoked_at: z.string().optional().meta({ description: 'Only for a revoked key, with `include=revoked`.' }),
      today: keyUseSchema.optional().meta({ description: 'Its actions since midnight; only in the list of keys.' }),
    })
    .meta({ id: 'Key' }),
);

/** Parameters of `GET /keys`. */
export const keysQuery = z.object({
  include: z
    .literal('revoked', { error: 'The parameter `include` must be "revoked".' })
    .optional()
    .meta({ description: '`revoked` adds the newest 1,000 revoked keys, whose ids the audit log may still contain.' }),
});

/** Answer of `DELETE /keys/{id}`. */
export const keyRevocationSchema = shapeOf<KeyRevocation>()(
  z
    .object({
      id: z.string(),
      scheduled_cancelled: z.int().meta({ description: 'Number of its scheduled sends that were cancelled.' }),
      approvals_voided: z
        .int()
        .meta({ description: 'Number of its sends that waited for a decision, and will not be sent.' }),
    })
    .meta({ id: 'KeyRevocation' }),
);

/** Answer of `GET /keys/{id}/check`. */
export const keyCheckSchema = shapeOf<KeyCheck>()(
  z
    .object({
      to: z.string(),
      members: z.array(z.string()).readonly(),
      read: z.boolean(),
      send: z.enum(['allowed', 'held', 'refused']),
      reason: z.enum(['scope_missing', 'recipient_not_allowed']).nullable(),
    })
    .meta({ id: 'KeyCheck' }),
);

/** Parameters of `GET /keys/{id}/check`. */
export const keyCheckQuery = z.object({
  to: z
    .string({ error: 'The parameter `to` is required: an address or a conversation id.' })
    .meta({ description: 'An address or a conversation id.' }),
});

/** A new key with its secret and, if requested, the configuration lines that let each client connect with it. */
type NewKey = KeyRecord & { readonly key: string; readonly clients?: readonly ClientLines[] | undefined };

/** Parameters of `POST /keys`. */
export const newKeyQuery = z.object({
  include: z
    .literal('clients', { error: 'The parameter `include` must be "clients".' })
    .optional()
    .meta({ description: '`clients` adds the lines of configuration with which each client connects.' }),
});

/** Answer to creating or rotating a key. No other answer contains the key itself. */
export const newKeySchema = shapeOf<NewKey>()(
  z
    .object({
      ...keySchema.shape,
      key: z.string().meta({ description: 'The key. It is never shown again.' }),
      clients: z
        .array(
          z.object({
            client: z.string(),
            where: z.string(),
            lines: z.array(z.string()).readonly(),
            guide: z.string().optional().meta({ description: 'The page of the guide that shows the rest.' }),
          }),
        )
        .readonly()
        .optional()
        .meta({
          description:
            'With `include=clients`: for each client, the lines of configuration with which it connects, and where they belong.',
        }),
    })
    .meta({ id: 'NewKey' }),
);

const scopes = list(
  '`scopes`',
  z.enum(SCOPES, { error: `A scope must be one of ${SCOPES.join(', ')}.` }),
  SCOPES.length,
).min(1, 'There must be at least one scope.');

function people(what: string) {
  const error = `${what} must be an array of addresses and conversation ids, or "*" for everyone.`;
  const entry = text(`An entry of ${what}`, 512);
  return z.union([z.literal('*'), z.array(entry).max(MAX_ENTRIES, `${what} must have at most ${MAX_ENTRIES} items.`)], {
    error: (issue) => (Array.isArray(issue.input) ? undefined : error),
  });
}

function cap(name: keyof Caps) {
  const maximum = maxCap(name);
  const error = `The cap \`${name}\` must be a whole number from 0 to ${maximum}.`;
  return z.int({ error }).min(0, error).max(maximum, error).optional();
}

const INSTANT = '`expires_at` must be null, or an instant such as 2026-12-31T00:00:00Z.';
const expiresAt = z
  .string({ error: INSTANT })
  .transform((value, context) => {
    const ns = parseInstant(value);
    if (ns !== undefined) return isoSecond(Number(ns / NS_PER_MS));
    context.issues.push({ code: 'custom', input: value, message: INSTANT });
    return z.NEVER;
  })
  .nullable()
  .meta({ format: 'date-time', description: '90 days from now by default; null means never.' });

const callbackHosts = list(
  '`callback_hosts`',
  z
    .string({ error: 'A callback host must be a string.' })
    .max(260, 'A callback host must have at most 260 characters.')
    .transform((written, context) => {
      const host = callbackHost(written);
      if (host !== undefined) return host;
      const message = 'A callback host must be a name or an IP address (IPv6 in brackets), with or without a port.';
      context.issues.push({ code: 'custom', input: written, message });
      return z.NEVER;
    }),
  MAX_CALLBACK_HOSTS,
)
  .transform((hosts) => [...new Set(hosts)])
  .meta({
    description: 'Hosts besides this machine that its webhooks may post to. An entry without a port allows every port.',
  });

const WAIT = `\`max_wait_s\` must be a whole number of seconds from 0 to ${MAX_WAIT_S}.`;
const maxWait = z
  .int({ error: WAIT })
  .min(0, WAIT)
  .max(MAX_WAIT_S, WAIT)
  .meta({
    description: `Maximum number of seconds that one request may wait. Set it lower for a client or a tunnel that gives up sooner. Default: ${MAX_WAIT_S}.`,
  });

const settings = {
  read: people('`read`').optional(),
  send: people('`send`').optional(),
  approval: z
    .enum(APPROVAL_MODES, { error: `\`approval\` must be one of ${APPROVAL_MODES.join(', ')}.` })
    .optional()
    .meta({ description: 'Selects the sends that need a decision: all, only the first to a new recipient, or none.' }),
  caps: z
    .object(
      {
        per_minute: cap('per_minute'),
        per_day: cap('per_day'),
        new_contacts_per_day: cap('new_contacts_per_day'),
      },
      { error: '`caps` must be a JSON object.' },
    )
    .optional(),
  dry_run: z.boolean({ error: '`dry_run` must be true or false.' }).optional(),
  expires_at: expiresAt.optional(),
  callback_hosts: callbackHosts.optional(),
  max_wait_s: maxWait.optional(),
};

const PRESET_NAMES = Object.keys(PRESETS) as [keyof typeof PRESETS, ...(keyof typeof PRESETS)[]];

/** Body of `POST /keys`. */
export const keyBody = z
  .object(
    {
      name: text('`name`', 64).refine((value) => value.trim() !== '' && !/\p{Cc}/u.test(value), {
        error: '`name` must not be blank and must not contain control characters.',
      }),
      preset: z.enum(PRESET_NAMES, { error: `\`preset\` must be one of ${PRESET_NAMES.join(', ')}.` }).optional(),
      scopes: scopes.optional(),
      ...settings,
    },
    NOT_AN_OBJECT,
  )
  .refine(({ preset, scopes }) => preset === undefined || scopes === undefined, {
    path: ['preset'],
    error: 'Give either `preset` or `scopes`, not both.',
  })
  .meta({ id: 'KeyRequest' });

/** Body of `PATCH /keys/{id}`. */
export const keyChangesBody = z
  .object(
    {
      ...settings,
      opens: z
        .array(closedGroup, { error: '`opens` must be a list of groups as in `closed`.' })
        .max(MAX_ENTRIES, `\`opens\` must have at most ${MAX_ENTRIES} entries.`)
        .optional()
        .meta({ description: 'Closed groups to open again for the people who joined: entries of `closed`.' }),
    },
    NOT_AN_OBJECT,
  )
  .meta({ id: 'KeyChanges' });
