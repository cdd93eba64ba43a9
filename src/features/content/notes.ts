import type { AppCard, DigitalTouch, FileContent, LinkPreview, Poll, Sticker } from '../../client/content-types.ts';
import type { DescribedRow } from '../../core/model/sentence.ts';

/** Describes a row by its card, its poll or its drawing. */
export function cardNote(details: DescribedRow, body: string): string | undefined {
  const { kind, link, app, poll, digital_touch: touch } = details;
  if (details.poll_update !== undefined) return 'Added an option to a poll';
  switch (kind) {
    case 'poll_vote':
      return details.poll_vote?.choices.length === 0 ? 'Took back a vote in a poll' : 'Voted in a poll';
    case 'poll_update':
      return 'Added an option to a poll';
    case 'link':
      return linkNote(link, body);
    case 'app':
      return appNote(app, body);
    case 'poll':
      return pollNote(poll);
    case 'handwriting':
      return 'Handwritten message';
    case 'digital_touch':
      return digitalTouchNote(touch);
    default:
      return undefined;
  }
}

/** Describes a file that is a sticker, a person or a place. */
export function fileNote({ sticker, contact, location }: FileContent): string | undefined {
  if (sticker !== undefined) return stickerNote(sticker);
  if (contact !== undefined) {
    return `Contact: ${contact.name ?? contact.organization ?? contact.phones[0] ?? 'no name'}`;
  }
  if (location === undefined) return undefined;
  const { latitude, longitude, name, url } = location;
  if (latitude !== undefined && longitude !== undefined) {
    return `Location: ${fiveDigits(latitude)}, ${fiveDigits(longitude)}`;
  }
  return `Location: ${name ?? url ?? 'unknown'}`;
}

const fiveDigits = (degrees: number): string => String(Math.round(degrees * 100_000) / 100_000);

function stickerNote(sticker: Sticker): string {
  switch (sticker.source) {
    case 'genmoji':
      return sticker.description === undefined ? 'Genmoji' : `Genmoji: ${sticker.description}`;
    case 'memoji':
      return 'Memoji sticker';
    case 'app':
      return `Sticker from ${sticker.app_name ?? sticker.bundle_id ?? 'an app'}`;
    default:
      return sticker.effect === undefined ? 'Sticker' : `Sticker (${sticker.effect})`;
  }
}

/** Describes a link by its preview. `body` is the text that contains the link. */
function linkNote(link: LinkPreview | undefined, body: string): string {
  if (link === undefined) return body === '' ? 'Link' : body;
  const { title, url = '', music, app_store: app, place } = link;
  switch (link.type) {
    case 'music':
      return `Music: ${[music?.track ?? title ?? url, music?.artist].filter(Boolean).join(' by ')}`;
    case 'app_store':
      return `App: ${app?.name ?? title ?? url}`;
    case 'place':
      return `Place: ${place?.address ?? place?.name ?? title ?? url}`;
    case 'document':
      return `Shared document: ${title ?? url}`;
    default:
      return title === undefined ? `Link: ${url}` : `Link: ${title} (${url})`;
  }
}

/** Describes an app's card by its summary (Apple's apps) or its visible texts (other apps), or else by `body`. */
function appNote(app: AppCard | undefined, body: string): string {
  if (app === undefined) return body || 'App message';
  if (app.business !== undefined) return businessNote(app.business);
  const { type, name, caption, summary, title, subcaption } = app;
  const says = type === 'app' ? (caption ?? title ?? summary ?? subcaption) : (summary ?? caption ?? subcaption);
  if (says === undefined) return body || (name ?? `App message (${app.bundle_id})`);
  if (name === undefined) return `App message: ${says}`;
  return says.startsWith(name) ? says : `${name}: ${says}`;
}

function businessNote({
  type,
  title,
  summary,
  options,
  selected,
  items = [],
  answers = [],
}: NonNullable<AppCard['business']>): string {
  const question = title ?? summary ?? '';
  switch (type) {
    case 'quick_reply':
      return selected === undefined ? `Question: ${withChoices(question, options)}` : `Answered “${selected}”`;
    case 'list_picker': {
      const chosen = items.filter((item) => item.selected).map((item) => item.title);
      if (chosen.length > 0) return `Answered ${chosen.map((one) => `“${one}”`).join(', ')}`;
      return `Question: ${withChoices(
        question,
        items.map((item) => item.title),
      )}`;
    }
    case 'form_response':
      return `Answers: ${answers.map((one) => `${one.question} ${one.answers.join(', ')}`).join('; ')}`;
    default:
      return question === '' ? 'Form' : `Form: ${question}`;
  }
}

function withChoices(question: string, choices: readonly string[] = []): string {
  if (choices.length === 0) return question;
  return question === '' ? choices.join(', ') : `${question} (${choices.join(', ')})`;
}

/** Describes a poll by its question and options, with the votes for each option once there are any. */
function pollNote(poll: Poll | undefined): string {
  if (poll === undefined) return 'Poll';
  const { question, options } = poll;
  const hasVotes = options.some(({ votes }) => votes.length > 0);
  const choices = options.map(({ text = '?', votes }) => (hasVotes ? `${text} (${votes.length})` : text)).join(', ');
  if (question === undefined) return choices === '' ? 'Poll' : `Poll: ${choices}`;
  if (choices === '') return `Poll: ${question}`;
  return hasVotes ? `Poll: ${question} ${choices}` : `Poll: ${question} (${choices})`;
}

function digitalTouchNote(touch: DigitalTouch | undefined): string {
  const says = touch && digitalTouchText(touch);
  return says === undefined ? 'Digital Touch' : `Digital Touch: ${says}`;
}

function digitalTouchText({
  type,
  count = 0,
  bpm,
  strokes = 0,
  drawing_strokes: drawn = 0,
}: DigitalTouch): string | undefined {
  switch (type) {
    case 'tap':
      return count === 1 ? '1 tap' : `${count} taps`;
    case 'kiss':
      return count === 1 ? '1 kiss' : `${count} kisses`;
    case 'heartbeat':
      return `heartbeat, ${Math.round(bpm ?? 0)} beats a minute`;
    case 'sketch':
      return strokes === 1 ? 'sketch of 1 stroke' : `sketch of ${strokes} strokes`;
    case 'photo':
      return drawn > 0 ? 'photo with a drawing' : 'photo';
    case 'other':
      return undefined;
    default:
      return type;
  }
}
