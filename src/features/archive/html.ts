import { parsedUrl } from '../../core/model/parsed-url.ts';
import { escapedHtml } from '../../core/model/text.ts';

/** HTML in which every text written by people was escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[] | undefined | false;

/** Fills a template and escapes every part that is not Html. undefined and false become nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? '';
  for (const [at, part] of parts.entries()) text += filled(part) + (strings[at + 1] ?? '');
  return new Html(text);
}

export const NO_HTML = new Html('');

function filled(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return escapedHtml(String(part));
}

/**
 * Returns the URL if it is an `https` URL, to which a page may link; undefined for any other, such as `javascript:`.
 */
export function safeLink(url: string | undefined): string | undefined {
  if (url === undefined || !/^https:\/\//i.test(url)) return undefined;
  return parsedUrl(url)?.href;
}

const LINK = /https:\/\/[^\s<>"'`]+/g;
/** Punctuation at the end of a match of `LINK` belongs to the sentence around the link. */
const AFTER_LINK = new Set('.,:;!?)]}»”’…');

/** Renders a text with its https links as links. */
export function linked(text: string): Html {
  if (!text.includes('https://')) return new Html(escapedHtml(text));
  let out = '';
  let at = 0;
  for (const { 0: found, index } of text.matchAll(LINK)) {
    let end = found.length;
    while (AFTER_LINK.has(found.charAt(end - 1))) end -= 1;
    const shown = found.slice(0, end);
    const href = safeLink(shown);
    out += escapedHtml(text.slice(at, index));
    out += href === undefined ? escapedHtml(shown) : link(href, html`${shown}`).text;
    at = index + end;
  }
  return new Html(out + escapedHtml(text.slice(at)));
}

/** Renders a link to a page on the web. */
export function link(href: string, content: Html): Html {
  return html`<a href="${href}" rel="noopener noreferrer">${content}</a>`;
}
