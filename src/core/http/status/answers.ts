import * as z from 'zod';
import { CAPABILITY_REASONS } from '../../model/capabilities.ts';
import { MESSAGES_ACCOUNT_STATES } from '../../model/messages-account.ts';
import { PERMISSION_REASONS } from '../../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../../model/ports/reading-ports.ts';
import type { ShownSetting } from '../../model/shown-setting.ts';
import type { PermissionsAnswer, StatusReport } from '../../model/status.ts';
import { WEBHOOK_STATES } from '../../model/webhook.ts';
import { shapeOf } from '../../schema/shape.ts';

const backend = z.object({ connected: z.boolean(), message: z.string().nullable() });
const permissions = z
  .array(
    z.object({
      name: z.enum(['full_disk_access', 'automation']),
      state: z.enum(['granted', 'denied', 'unknown']),
      detail: z.string(),
      reason: z.enum(PERMISSION_REASONS).optional(),
    }),
  )
  .readonly();

const capabilities = z.record(
  z.string(),
  z.object({ available: z.boolean(), reason: z.enum(CAPABILITY_REASONS).optional() }),
);

const state = z.enum(['present', 'away']);
const machine = z.object({
  machine: z.string(),
  state,
  name: z.string(),
  version: z.string(),
  heard_at: z.string().meta({ description: 'When this hub last heard from the machine.' }),
  newest_row: z.int(),
  behind: z.int().meta({ description: 'Rows that it has not published yet, at most.' }),
  rows_without_event: z
    .int()
    .meta({ description: 'Rows that were too old for an event when they could be published.' }),
  problem: z.string().nullable(),
});

/** A Mac of a hub; the element of the answer of `GET /macs`. */
export const macSchema = z.object({
  id: z.string(),
  state,
  path: z.string().meta({ description: 'The path at which the API of this Mac begins.' }),
  machines: z.array(machine).readonly().meta({ description: 'The one that is asked first comes first.' }),
});

/** Answer of `GET /status` (decision H). */
export const statusSchema = shapeOf<StatusReport>()(
  z
    .object({
      version: z.string(),
      demo: z.literal(true).optional().meta({ description: 'Present if `postern demo` simulates the Mac.' }),
      url: z.string().optional().meta({ description: 'The address of the service; only over the Unix socket.' }),
      cli: z
        .object({
          program: z.string().meta({ description: 'What comes before the words of a command, such as `postern`.' }),
          options: z
            .string()
            .meta({ description: 'What comes after them, such as `--config-dir /elsewhere`; may be empty.' }),
        })
        .optional()
        .meta({
          description: 'How a person runs a command with this service, quoted for a shell. Only for the owner.',
        }),
      uptime_s: z.int(),
      backend,
      newest_row: z.int().nullable(),
      newest_event: z.object({
        row_id: z.int(),
        age_s: z.int().nullable(),
        offset: z.string().optional().meta({ description: 'Only at a hub, where `row_id` is 0.' }),
        earlier: z.string().optional().meta({
          description: 'Only at a hub: an offset about 100 events earlier, from which to read the newest ones.',
        }),
      }),
      operations: z.array(z.string()).readonly().optional().meta({
        description: 'The operations of this document that the service has.',
      }),
      macs: z.array(macSchema).readonly().optional().meta({ description: 'Only at a hub: its Macs.' }),
      webhooks: z
        .array(
          z.object({
            id: z.string(),
            name: z.string().optional(),
            origin: z.string(),
            state: z.enum(WEBHOOK_STATES),
            consecutive_failures: z.int(),
            last_success_at: z.string().nullable(),
            last_outcome: z.enum(['delivered', 'dropped', 'gone']).nullable(),
            last_error: z.string().nullable(),
            paused_by: z
              .literal('receiver')
              .optional()
              .meta({ description: 'Paused because the receiver answered 410.' }),
            dropped: z
              .int()
              .optional()
              .meta({ description: 'Number of dropped events that can be delivered again; absent if there are none.' }),
          }),
        )
        .readonly(),
      held_sends: z.int().optional().meta({ description: "Sends that wait for the owner's decision." }),
      permissions,
      messages: z
        .object({
          answer_ms: z.int().meta({ description: 'Milliseconds, including the start of osascript.' }),
          checked_at: z.string(),
        })
        .optional()
        .meta({
          description:
            'How long Messages took to answer the last send or check. Absent before the first answer, and at a hub.',
        }),
      messages_account: z
        .object({
          state: z.enum(MESSAGES_ACCOUNT_STATES).meta({
            description:
              '`no_imessage`: only SMS or RCS is enabled, so iMessages neither arrive nor go out. `signed_out`: no account is enabled.',
          }),
          checked_at: z.string(),
        })
        .optional()
        .meta({
          description:
            'The accounts of Messages, asked for once a day while Automation is granted. Absent before the first answer, and at a hub.',
        }),
      arrival_delay: z
        .object({
          median_s: z.number().meta({ description: 'Seconds, without sleep and downtime.' }),
          max_s: z.number(),
          messages: z.int().meta({ description: 'Number of messages that these figures are of, at most 20.' }),
        })
        .optional()
        .meta({
          description:
            'How long the newest incoming iMessages took from their date until they were in chat.db. Absent before the first since the start, and at a hub.',
        }),
      problems: z
        .array(
          z.object({
            code: z.string().meta({ description: 'Other versions may send codes that you do not know.' }),
            since: z.string().meta({ description: 'When Postern noticed the problem.' }),
            until: z
              .string()
              .nullable()
              .meta({ description: 'When Postern noticed that the problem had ended; null while it lasts.' }),
            subject: z
              .string()
              .nullable()
              .meta({ description: 'The name or origin of the webhook; null for other problems.' }),
            hint: z.string().nullable().meta({ description: 'The reason, or what to do.' }),
          }),
        )
        .readonly()
        .optional()
        .meta({
          description:
            'Current problems, and the last 20 that ended, newest first. Only for the owner, and absent at a hub.',
        }),
      capabilities: capabilities.optional().meta({
        description:
          'What this service can do on this Mac and this version of macOS, and why it cannot do the rest. Expect other names and reasons.',
      }),
      warnings: z
        .array(
          z.object({
            code: z.string(),
            text: z.string(),
            tone: z.enum(['warn', 'bad']),
            title: z.string(),
            clause: z
              .string()
              .optional()
              .meta({ description: 'The end of a sentence that begins with `Messages work;`.' }),
            menu: z.string().optional(),
            webhook: z.string().optional().meta({ description: 'The id of the webhook that the warning is about.' }),
          }),
        )
        .readonly()
        .optional()
        .meta({ description: 'Problems that features and webhooks report; absent if there are none.' }),
    })
    .meta({ id: 'Status' }),
);

/** Answer of `POST /permissions/check` (decision H). */
export const permissionsSchema = shapeOf<PermissionsAnswer>()(z.object({ permissions }).meta({ id: 'Permissions' }));

/** The contract's Health record. */
export interface Health {
  readonly status: 'ok';
  readonly backend: BackendHealth;
}

/** Answer of `GET /health`. */
export const healthSchema = shapeOf<Health>()(
  z
    .object({
      status: z.literal('ok'),
      backend: z.object({
        connected: z.boolean().meta({ description: 'The chat database was opened successfully.' }),
        message: z.string().nullable().meta({ description: 'The problem, if there is one.' }),
      }),
    })
    .meta({ id: 'Health' }),
);

const settingSchema = shapeOf<ShownSetting>()(
  z.object({
    key: z.string(),
    title: z.string(),
    value: z.unknown(),
    default: z.unknown(),
    is_default: z.boolean(),
    needs_restart: z.literal(true),
    description: z.string(),
  }),
);

/** Answer of `GET /config`. */
export const configSchema = z.object({ settings: z.array(settingSchema).readonly() }).meta({ id: 'Config' });
