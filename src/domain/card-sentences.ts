import type { AppCard, DigitalTouch, LinkPreview, Poll } from './cards.ts';

/** A link by what it leads to; `body` is the text it was found in. */
export function linkSentence(link: LinkPreview | undefined, body: string): string {
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

/** The card of an app. Apple's own say all in their summary, the others in what they show; `body` is for neither. */
export function appSentence(app: AppCard | undefined, body: string): string {
  if (app === undefined) return body || 'App message';
  if (app.business !== undefined) return businessSentence(app.business);
  const { type, name, caption, summary, title, subcaption } = app;
  const says = type === 'app' ? (caption ?? title ?? summary ?? subcaption) : (summary ?? caption ?? subcaption);
  if (says === undefined) return body || (name ?? `App message (${app.bundle_id})`);
  if (name === undefined) return `App message: ${says}`;
  return says.startsWith(name) ? says : `${name}: ${says}`;
}

function businessSentence({
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

/** A poll with its options, and with their votes once there are any. */
export function pollSentence(poll: Poll | undefined): string {
  if (poll === undefined) return 'Poll';
  const { question, options } = poll;
  const hasVotes = options.some(({ votes }) => votes.length > 0);
  const choices = options.map(({ text = '?', votes }) => (hasVotes ? `${text} (${votes.length})` : text)).join(', ');
  if (question === undefined) return choices === '' ? 'Poll' : `Poll: ${choices}`;
  if (choices === '') return `Poll: ${question}`;
  return hasVotes ? `Poll: ${question} ${choices}` : `Poll: ${question} (${choices})`;
}

export function digitalTouchSentence(touch: DigitalTouch | undefined): string {
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
