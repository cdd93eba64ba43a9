import type { CardContent, FileContent, RunContent } from '../../client/content-types.ts';
import type { Rules } from '../../core/model/rules.ts';

/**
 * What keys besides the owner's see of a row's content. All of it comes from the row itself, which the key may read,
 * except the votes and the question of a poll, which are read only from the poll's own conversation.
 */
export const RULES: {
  readonly row: Rules<CardContent>;
  readonly file: Rules<FileContent>;
  readonly run: Rules<RunContent>;
} = {
  row: {
    link: {
      type: 'shown',
      url: 'shown',
      original_url: 'shown',
      title: 'shown',
      summary: 'shown',
      site_name: 'shown',
      item_type: 'shown',
      images: 'shown',
      placeholder: 'shown',
      music: { artist: 'shown', album: 'shown', track: 'shown', preview_url: 'shown', lyrics: 'shown' },
      app_store: { name: 'shown', subtitle: 'shown', platform: 'shown', genre: 'shown' },
      place: {
        name: 'shown',
        address: 'shown',
        street: 'shown',
        city: 'shown',
        state: 'shown',
        postal_code: 'shown',
        country: 'shown',
        country_code: 'shown',
      },
      document: { app: 'shown', bundle_id: 'shown', created_at: 'shown' },
    },
    app: {
      type: 'shown',
      bundle_id: 'shown',
      team_id: 'shown',
      name: 'shown',
      title: 'shown',
      subtitle: 'shown',
      caption: 'shown',
      subcaption: 'shown',
      secondary_subcaption: 'shown',
      tertiary_subcaption: 'shown',
      summary: 'shown',
      url: 'shown',
      session_id: 'shown',
      check_in: { sent_at: 'shown', expected_at: 'shown', overdue_at: 'shown' },
      business: {
        type: 'shown',
        title: 'shown',
        subtitle: 'shown',
        summary: 'shown',
        selected: 'shown',
        options: 'shown',
        items: { title: 'shown', subtitle: 'shown', selected: 'shown' },
        answers: { question: 'shown', answers: 'shown' },
      },
    },
    poll: {
      question: 'shown',
      question_guid: 'shown',
      creator: 'shown',
      options: { id: 'shown', text: 'shown', creator: 'shown', votes: 'shown' },
    },
    poll_update: { poll_guid: 'shown', options: { id: 'shown', text: 'shown', creator: 'shown' } },
    poll_vote: { poll_guid: 'shown', choices: 'shown' },
    handwriting: { id: 'shown', drawn_at: 'shown', width: 'shown', height: 'shown', strokes: 'shown' },
    digital_touch: {
      type: 'shown',
      id: 'shown',
      count: 'shown',
      strokes: 'shown',
      points: 'shown',
      bpm: 'shown',
      duration_s: 'shown',
      broken_at_s: 'shown',
      drawing_strokes: 'shown',
      overlays: 'shown',
    },
  },
  file: {
    sticker: { source: 'shown', bundle_id: 'shown', app_name: 'shown', description: 'shown', effect: 'shown' },
    contact: { name: 'shown', organization: 'shown', phones: 'shown', emails: 'shown' },
    location: { name: 'shown', latitude: 'shown', longitude: 'shown', url: 'shown' },
  },
  run: {
    detected: {
      type: 'shown',
      text: 'shown',
      currency: 'shown',
      unit: 'shown',
      airline: 'shown',
      number: 'shown',
      carrier: 'shown',
      street: 'shown',
      city: 'shown',
      state: 'shown',
      postal_code: 'shown',
      country: 'shown',
      country_code: 'shown',
    },
  },
};
