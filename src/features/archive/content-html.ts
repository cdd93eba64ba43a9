import type { AppCard, LinkPreview, Poll } from '../../client/content-types.ts';
import type { MessagePart, TextRun } from '../../core/model/content.ts';
import type { MessageDetails } from '../../core/model/details.ts';
import { earlierTexts, effectNote } from '../../core/model/message-view.ts';
import type { NameLookup } from '../../core/model/ports/names-ports.ts';
import { type Notes, rowNote } from '../../core/model/sentence.ts';
import { capital } from '../../core/model/text.ts';
import { Html, html, linked, safeLink } from './html.ts';

/** Key: the name of a text style. Value: the name of the HTML element that shows it. */
const STYLES: ReadonlyMap<string, string> = new Map([
  ['bold', 'b'],
  ['italic', 'i'],
  ['underline', 'u'],
  ['strikethrough', 's'],
]);
/** Characters that stand for attachments and apps' balloons in a message's text. */
const PLACEHOLDERS = /[\uFFFC\uFFFD]/g;

/** Renders the text of a message, with its styles if known. An unsent part is marked as such. */
export function textHtml(body: string, details: MessageDetails | undefined): Html {
  const parts = details?.parts ?? [];
  const isStyled = parts.some(
    ({ runs = [], unsent }) => unsent === true || runs.some(({ styles }) => styles !== undefined),
  );
  if (!isStyled) return linked(body);
  const shown = parts.map(partHtml).filter(({ text }) => text.trim() !== '');
  return html`${shown.flatMap((part, at) => (at === 0 ? [part] : [html`\n`, part]))}`;
}

function partHtml({ text, runs = [], unsent }: MessagePart): Html {
  if (unsent === true) return html`<i class="quiet">This part was unsent.</i>`;
  const pieces: Html[] = [];
  let at = 0;
  for (const run of runs) {
    if (run.styles === undefined || run.start < at || run.end <= run.start) continue;
    pieces.push(plain(text.slice(at, run.start)), styled(plain(text.slice(run.start, run.end)), run.styles));
    at = run.end;
  }
  return html`${pieces}${plain(text.slice(at))}`;
}

function plain(text: string): Html {
  return linked(text.replace(PLACEHOLDERS, ''));
}

function styled(content: Html, styles: NonNullable<TextRun['styles']>): Html {
  // Drops unknown styles: a damaged archive may name any.
  const names = styles.map((style) => STYLES.get(style)).filter((name) => name !== undefined);
  return names.reduce((inner, name) => new Html(`<${name}>${inner.text}</${name}>`), content);
}

/** Renders everything but text and files: a link, the card of an app, a poll, a transcript, a translation. */
export function cardsHtml(
  details: MessageDetails,
  { names, notes }: { readonly names: NameLookup; readonly notes: readonly Notes[] },
): readonly Html[] {
  const { link, app, poll, transcript, translations = [] } = details;
  return [
    link && linkHtml(link, rowNote({ ...details, kind: 'link' }, '', notes)),
    app && appHtml(app, rowNote({ ...details, kind: 'app' }, '', notes)),
    poll && pollHtml(poll, names),
    transcript !== undefined &&
      html`<div class="card"><small>Transcript</small><p class="text" dir="auto">${transcript}</p></div>`,
    ...translations.map(
      ({ text, language }) =>
        html`<div class="card"><small>Translation${language !== undefined && ` (${language})`}</small><p class="text" dir="auto">${text}</p></div>`,
    ),
  ].filter((card): card is Html => card instanceof Html);
}

function linkHtml(link: LinkPreview, note: string | undefined): Html {
  const { type, url, title, summary, site_name: site } = link;
  // Linked music, apps and places have their name in other members than `title`. The note reads those members.
  const shown = (type === 'page' ? title : note) ?? url ?? 'A link';
  // The sender's device writes the name of the site, so the address is always in sight.
  const href = safeLink(url);
  const heading =
    href === undefined
      ? html`<bdi>${shown}</bdi>`
      : html`<a href="${href}" rel="noopener noreferrer"><bdi>${shown}</bdi></a>`;
  return html`<div class="card"><p>${heading}</p>${summary !== undefined && html`<p dir="auto">${summary}</p>`}<small><bdi>${shown === url ? site : (url ?? site)}</bdi></small></div>`;
}

function appHtml(app: AppCard, note: string | undefined): Html {
  const lines = [
    app.caption,
    app.subcaption,
    app.secondary_subcaption,
    app.tertiary_subcaption,
    app.subtitle,
    app.summary,
  ];
  const title = app.title ?? app.name ?? (app.business === undefined ? app.bundle_id : 'Business');
  const says = app.business === undefined ? lines : [note];
  const texts = [...new Set(says)].filter((line) => line !== undefined && line !== title);
  return html`<div class="card"><p><b><bdi>${title}</bdi></b></p>${texts.map((text) => html`<p dir="auto">${text}</p>`)}${
    app.name !== undefined && app.name !== title && html`<small><bdi>${app.name}</bdi></small>`
  }</div>`;
}

function pollHtml({ question, options }: Poll, names: NameLookup): Html {
  const items = options.map(({ text, votes }) => {
    const who = votes.map((address) => names.nameOf(address) ?? address).join(', ');
    return html`<li class="choice"><bdi>${text ?? 'An option'}</bdi> <small>${votes.length}${who !== '' && html`: <bdi>${who}</bdi>`}</small></li>`;
  });
  return html`<div class="card"><p><b dir="auto">${question ?? 'Poll'}</b></p><ul class="choices">${items}</ul></div>`;
}

/** Returns the texts that parts of a message had before they were edited or unsent, oldest first. */
export function formerTexts({ edits }: MessageDetails): readonly string[] {
  return earlierTexts(edits).flatMap(({ text }) => (text === null ? [] : [text.replace(PLACEHOLDERS, '')]));
}

/** Returns the message's effect and other remarks, for example that a part could not be read. */
export function remarks({
  effect,
  scheduled,
  undecoded,
  content_left_out: isCut,
  mirror,
}: MessageDetails): readonly string[] {
  return [
    effect && capital(effectNote(effect)),
    scheduled && 'Scheduled on the phone',
    mirror === true && 'A copy of one of your messages',
    (undecoded || isCut) && 'Some of it could not be read',
  ].filter((remark): remark is string => typeof remark === 'string');
}

/** Returns the words to show for a message without text. */
export function emptyWords(details: MessageDetails | undefined): string {
  if (details === undefined) return 'An empty message';
  const { sentence, handwriting, digital_touch: touch, kind } = details;
  if (sentence !== undefined) return sentence;
  if (handwriting !== undefined) return `A handwritten message (${handwriting.strokes} strokes)`;
  if (touch !== undefined) return `Digital Touch: ${touch.type}`;
  return kind === 'message' ? 'An empty message' : `A message of the kind ${kind}`;
}
