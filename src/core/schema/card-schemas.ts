import * as z from 'zod';
import {
  APP_TYPES,
  type AppCard,
  BUSINESS_TYPES,
  type ContactCard,
  DIGITAL_TOUCHES,
  type DigitalTouch,
  type Handwriting,
  LINK_TYPES,
  type LinkPreview,
  type LocationPin,
  type Poll,
  STICKER_SOURCES,
  type Sticker,
} from '../model/cards.ts';
import { shapeOf } from './shape.ts';

const instant = z.iso.datetime({ precision: 0 });
const text = z.string().optional();

export const linkSchema = shapeOf<LinkPreview>()(
  z
    .object({
      type: z.enum(LINK_TYPES),
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
    type: z.enum(BUSINESS_TYPES),
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

export const appSchema = shapeOf<AppCard>()(
  z
    .object({
      type: z.enum(APP_TYPES).meta({ description: 'Other values may follow.' }),
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

export const pollSchema = shapeOf<Poll>()(
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

export const pollUpdateSchema = z
  .object({ poll_guid: z.string(), options: z.array(z.object(pollOption).readonly()).readonly() })
  .readonly();

export const pollVoteSchema = z
  .object({
    poll_guid: z.string(),
    choices: z
      .array(z.string())
      .readonly()
      .meta({ description: 'Ids of options; empty if every vote was taken back.' }),
  })
  .readonly();

export const handwritingSchema = shapeOf<Handwriting>()(
  z.object({ id: text, drawn_at: instant.optional(), width: z.int(), height: z.int(), strokes: z.int() }).readonly(),
);

export const digitalTouchSchema = shapeOf<DigitalTouch>()(
  z
    .object({
      type: z.enum(DIGITAL_TOUCHES),
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

export const stickerSchema = shapeOf<Sticker>()(
  z
    .object({
      source: z.enum(STICKER_SOURCES).optional(),
      bundle_id: text,
      app_name: text,
      description: text,
      effect: text,
    })
    .readonly(),
);

export const contactCardSchema = shapeOf<ContactCard>()(
  z
    .object({
      name: text,
      organization: text,
      phones: z.array(z.string()).readonly(),
      emails: z.array(z.string()).readonly(),
    })
    .readonly(),
);

export const locationPinSchema = shapeOf<LocationPin>()(
  z.object({ name: text, latitude: z.number().optional(), longitude: z.number().optional(), url: text }).readonly(),
);
