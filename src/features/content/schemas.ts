import * as z from 'zod';
import type {
  AppCard,
  CardContent,
  ContactCard,
  DigitalTouch,
  FileContent,
  Handwriting,
  LinkPreview,
  LocationPin,
  Poll,
  RunContent,
  Sticker,
} from '../../client/content-types.ts';
import type { DetailsSchemas } from '../../core/details-part.ts';
import { shapeOf } from '../../core/schema/shape.ts';

const instant = z.iso.datetime({ precision: 0 });
const text = z.string().optional();

const linkSchema = shapeOf<LinkPreview>()(
  z
    .object({
      type: z.enum(['page', 'music', 'app_store', 'place', 'document']),
      url: text,
      original_url: text,
      title: text,
      summary: text,
      site_name: text,
      item_type: text,
      images: z.array(z.string()).readonly().optional(),
      placeholder: z.literal(true).optional().meta({ description: 'Messages was still fetching the preview.' }),
      music: z
        .object({ artist: text, album: text, track: text, preview_url: text, lyrics: text })
        .readonly()
        .optional(),
      app_store: z.object({ name: text, subtitle: text, platform: text, genre: text }).readonly().optional(),
      place: z
        .object({
          name: text,
          address: text,
          street: text,
          city: text,
          state: text,
          postal_code: text,
          country: text,
          country_code: text,
        })
        .readonly()
        .optional(),
      document: z.object({ app: text, bundle_id: text, created_at: text }).readonly().optional(),
    })
    .readonly()
    .meta({ id: 'LinkPreview', description: 'The preview of a link as Messages stored it. Nothing is fetched.' }),
);

const business = z
  .object({
    type: z.enum(['quick_reply', 'list_picker', 'form_request', 'form_response']),
    title: text,
    subtitle: text,
    summary: text,
    selected: text,
    options: z.array(z.string()).readonly().optional(),
    items: z
      .array(z.object({ title: z.string(), subtitle: text, selected: z.boolean() }).readonly())
      .readonly()
      .optional(),
    answers: z
      .array(z.object({ question: z.string(), answers: z.array(z.string()).readonly() }).readonly())
      .readonly()
      .optional(),
  })
  .readonly();

const appSchema = shapeOf<AppCard>()(
  z
    .object({
      type: z
        .enum(['app', 'payment', 'check_in', 'find_my', 'fitness', 'photos', 'business'])
        .meta({ description: 'Other values may follow.' }),
      bundle_id: z.string(),
      team_id: text,
      name: text,
      title: text,
      subtitle: text,
      caption: text,
      subcaption: text,
      secondary_subcaption: text,
      tertiary_subcaption: text,
      summary: text,
      url: text,
      session_id: text.meta({ description: 'The same for all turns of one game.' }),
      check_in: z
        .object({ sent_at: instant.optional(), expected_at: instant.optional(), overdue_at: instant.optional() })
        .readonly()
        .optional(),
      business: business.optional().meta({ description: 'A question from a business, or the answer to one.' }),
    })
    .readonly()
    .meta({ id: 'AppCard', description: "The card of an app. Its texts are the app's own." }),
);

const pollOption = { id: z.string(), text, creator: text };

const pollSchema = shapeOf<Poll>()(
  z
    .object({
      question: text,
      question_guid: text.meta({ description: 'The message that contains the question, if the poll itself has none.' }),
      creator: text,
      options: z
        .array(z.object({ ...pollOption, votes: z.array(z.string()).readonly() }).readonly())
        .readonly()
        .meta({ description: '`votes` lists the addresses of the people who currently choose this option.' }),
    })
    .readonly()
    .meta({ id: 'Poll' }),
);

const pollUpdateSchema = z
  .object({ poll_guid: z.string(), options: z.array(z.object(pollOption).readonly()).readonly() })
  .readonly();

const pollVoteSchema = z
  .object({
    poll_guid: z.string(),
    choices: z
      .array(z.string())
      .readonly()
      .meta({ description: 'Ids of options; empty if every vote was taken back.' }),
  })
  .readonly();

const handwritingSchema = shapeOf<Handwriting>()(
  z.object({ id: text, drawn_at: instant.optional(), width: z.int(), height: z.int(), strokes: z.int() }).readonly(),
);

const digitalTouchSchema = shapeOf<DigitalTouch>()(
  z
    .object({
      type: z.enum(['tap', 'kiss', 'heartbeat', 'heartbreak', 'sketch', 'fireball', 'photo', 'video', 'other']),
      id: text,
      count: z.int().optional(),
      strokes: z.int().optional(),
      points: z.int().optional(),
      bpm: z.number().optional(),
      duration_s: z.number().optional(),
      broken_at_s: z.number().optional(),
      drawing_strokes: z.int().optional(),
      overlays: z.int().optional(),
    })
    .readonly(),
);

const stickerSchema = shapeOf<Sticker>()(
  z
    .object({
      source: z.enum(['genmoji', 'memoji', 'user', 'app']).optional(),
      bundle_id: text,
      app_name: text,
      description: text,
      effect: text,
    })
    .readonly(),
);

const contactCardSchema = shapeOf<ContactCard>()(
  z
    .object({
      name: text,
      organization: text,
      phones: z.array(z.string()).readonly(),
      emails: z.array(z.string()).readonly(),
    })
    .readonly(),
);

const locationPinSchema = shapeOf<LocationPin>()(
  z.object({ name: text, latitude: z.number().optional(), longitude: z.number().optional(), url: text }).readonly(),
);

const detected = z
  .object({
    type: z.enum(['money', 'quantity', 'flight', 'tracking_number', 'address', 'date', 'other']),
    text,
    currency: text,
    unit: text,
    airline: text,
    number: text,
    carrier: text,
    street: text,
    city: text,
    state: text,
    postal_code: text,
    country: text,
    country_code: text,
  })
  .readonly();

/** The schemas of what this feature adds to `details`. */
export const SCHEMAS: DetailsSchemas<CardContent, FileContent, RunContent> = {
  row: {
    link: linkSchema.optional(),
    app: appSchema.optional(),
    poll: pollSchema.optional(),
    poll_update: pollUpdateSchema.optional().meta({ description: 'An option was added to a poll.' }),
    poll_vote: pollVoteSchema.optional().meta({ description: "One person's complete choice in a poll." }),
    handwriting: handwritingSchema.optional(),
    digital_touch: digitalTouchSchema.optional(),
  },
  file: {
    sticker: stickerSchema.optional(),
    contact: contactCardSchema.optional(),
    location: locationPinSchema.optional(),
  },
  run: { detected: detected.optional().meta({ description: 'Data that macOS detected in the text.' }) },
  named: { AppCard: appSchema, LinkPreview: linkSchema, Poll: pollSchema },
};
