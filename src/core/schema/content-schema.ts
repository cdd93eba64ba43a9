import * as z from 'zod';
import { CONTENT_COLUMNS, GROUP_EVENTS, type MessageContent, TEXT_STYLES, type TextRun } from '../model/content.ts';
import { shapeOf } from './shape.ts';

const text = z.string().optional();
const instant = z.iso.datetime({ precision: 0 });

/** Schemas of the members that features add to the content of a row, to an attachment and to a run. Key: the member. */
export interface AddedSchemas {
  readonly row: z.ZodRawShape;
  readonly file: z.ZodRawShape;
  readonly run: z.ZodRawShape;
  /** Schemas that the OpenAPI document lists under these names. */
  readonly named: Readonly<Record<string, z.ZodType>>;
}

export function mergedSchemas(all: readonly AddedSchemas[]): AddedSchemas {
  const merged = <Schemas extends object>(pick: (one: AddedSchemas) => Schemas): Schemas =>
    Object.assign({}, ...all.map(pick)) as Schemas;
  return {
    row: merged(({ row }) => row),
    file: merged(({ file }) => file),
    run: merged(({ run }) => run),
    named: merged(({ named }) => named),
  };
}

/** A run with what features add to it. */
export const runSchemaWith = <Added extends z.ZodRawShape>(added: Added) =>
  z
    .object({
      start: z.int(),
      end: z.int(),
      styles: z.array(z.enum(TEXT_STYLES)).readonly().optional(),
      animation: text,
      mention: text.meta({ description: 'Address of the mentioned person.' }),
      link: text,
      code: text.meta({ description: 'A one-time code.' }),
      ...added,
      attachment_guid: text,
      name: text,
      width: z.number().optional(),
      height: z.number().optional(),
      inline: z.literal(true).optional().meta({ description: 'A picture within the text, such as a genmoji.' }),
      transcript: text,
    })
    .readonly()
    .meta({ id: 'TextRun' });

const runSchema = shapeOf<TextRun>()(runSchemaWith({}));

const runs = z
  .array(runSchema)
  .readonly()
  .meta({ description: "Ranges that are more than plain text, as UTF-16 offsets into the part's text." });

const edits = z
  .array(
    z
      .object({
        part: z.int(),
        history: z
          .array(z.object({ at: instant.optional(), text: z.string().nullable(), runs: runs.optional() }).readonly())
          .readonly(),
      })
      .readonly(),
  )
  .readonly()
  .optional()
  .meta({ description: 'Texts of the parts that were edited, oldest first; the last is the current one.' });

/** Members of `details` that describe the content of a row (decision V1), with what features add to them. */
export const contentMembersWith = <Added extends z.ZodRawShape>(added: Added) => ({
  parts: z
    .array(
      z
        .object({ part: z.int(), text: z.string(), runs: runs.optional(), unsent: z.literal(true).optional() })
        .readonly(),
    )
    .readonly()
    .optional()
    .meta({ description: 'The bubbles of the message, unless it is one plain text. U+FFFC stands for an attachment.' }),
  mentions: z.array(z.string()).readonly().optional().meta({ description: 'Addresses of the people mentioned.' }),
  edits,
  unsent_parts: z.array(z.int()).readonly().optional().meta({ description: 'Numbers of the parts that were unsent.' }),
  translations: z
    .array(z.object({ part: z.int(), text: z.string(), language: text, source_language: text }).readonly())
    .readonly()
    .optional(),
  transcript: text.meta({ description: 'Words of its voice messages, one per line.' }),
  ...added,
  effect: z
    .object({ name: z.string(), on: z.enum(['bubble', 'screen', 'unknown']), id: z.string() })
    .readonly()
    .optional(),
  group_event: z
    .object({
      type: z.enum(GROUP_EVENTS),
      who: text,
      name: text,
      item_type: z.int().optional(),
      group_action_type: z.int().optional(),
    })
    .readonly()
    .optional(),
  location_share: z
    .object({ action: z.enum(['started', 'stopped']), by_me: z.boolean() })
    .readonly()
    .optional(),
  reply_to_part: z.int().optional(),
  reply_to_range: z.tuple([z.int(), z.int()]).readonly().optional().meta({
    description: 'The range of that part that was replied to, as UTF-16 offsets: start and exclusive end.',
  }),
  subject: text,
  scheduled: z
    .object({ for: instant, state: z.int().nullable() })
    .readonly()
    .optional()
    .meta({ description: 'Scheduled on the phone. `state` is the number that Messages stored.' }),
  undecoded: z
    .array(z.enum(CONTENT_COLUMNS))
    .readonly()
    .optional()
    .meta({ description: 'Columns that exist but could not be decoded, or only in part.' }),
  content_left_out: z.literal(true).optional().meta({
    description:
      'Content is missing because the list had already decoded as much as it may. To get it, read this message alone.',
  }),
});

export const contentMembers = contentMembersWith({});

/** Fails to compile if `contentMembers` and `MessageContent` differ. */
shapeOf<MessageContent>()(z.object(contentMembers));

/** The member `details_left_out` of a message or a reaction. */
export const detailsLeftOut = z.literal(true).optional().meta({
  description: 'Its `details` are missing because the list had reached 16 MB.',
});
