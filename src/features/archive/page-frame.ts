import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { escapedHtml } from '../../core/model/text.ts';
import { Html, html } from './html.ts';

// Pages show only files of the archive and run no script, no matter what a message contains.

const STYLE = ['page.css', 'message.css'].map((name) => readFileSync(new URL(name, import.meta.url), 'utf8')).join('');
const POLICY = [
  "default-src 'none'",
  // Pages are opened from disk, where some browsers do not treat files of the archive as 'self'.
  "img-src 'self' file:",
  "media-src 'self' file:",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Renders a page up to and including its `<body>` tag. */
export function pageBeginning(title: string): Html {
  return new Html(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapedHtml(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapedHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
`);
}

export const PAGE_END = html`
</body>
</html>
`;

/** Formats dates and times in English, for one time zone. */
export class Calendar {
  readonly timeZone: string;
  readonly #day: Intl.DateTimeFormat;
  readonly #time: Intl.DateTimeFormat;
  readonly #date: Intl.DateTimeFormat;
  readonly #year: Intl.DateTimeFormat;
  readonly #month: Intl.DateTimeFormat;
  readonly #monthHere: Intl.DateTimeFormat;
  readonly #moment: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.timeZone = timeZone;
    this.#day = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'full' });
    this.#time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
    this.#date = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium' });
    this.#year = new Intl.DateTimeFormat('en-GB', { timeZone, year: 'numeric' });
    this.#month = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', month: 'long' });
    this.#monthHere = new Intl.DateTimeFormat('en-GB', { timeZone, month: 'long' });
    this.#moment = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium', timeStyle: 'short' });
  }

  /** Returns, for example, `Friday, 1 May 2026`. */
  day(iso: string): string {
    return this.#day.format(Date.parse(iso));
  }

  /** Returns, for example, `2026`. */
  year(iso: string): string {
    return this.#year.format(Date.parse(iso));
  }

  /** Returns the month of a date in UTC, for example `May`. */
  month(iso: string): string {
    return this.#month.format(Date.parse(iso));
  }

  /** Returns the month of a date, for example `May`. */
  monthHere(iso: string): string {
    return this.#monthHere.format(Date.parse(iso));
  }

  /** Returns, for example, `14:05`. */
  time(iso: string): Html {
    return html`<time datetime="${iso}">${this.#time.format(Date.parse(iso))}</time>`;
  }

  /** Returns, for example, `1 May 2026`. */
  date(iso: string): Html {
    return html`<time datetime="${iso}">${this.#date.format(Date.parse(iso))}</time>`;
  }

  /** Returns, for example, `1 May 2026, 14:05`. */
  moment(iso: string): Html {
    return html`<time datetime="${iso}">${this.#moment.format(Date.parse(iso))}</time>`;
  }
}
