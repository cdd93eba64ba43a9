import { isoSecond } from '../../core/model/iso-second.ts';
import { CONVERSATIONS } from './archive-layout.ts';
import { Html, html } from './html.ts';
import { type Calendar, PAGE_END, pageBeginning } from './page-frame.ts';

export interface ListedConversation {
  readonly key: string;
  readonly title: string;
  readonly subtitle: string;
  readonly messages: number;
  /** Date of the conversation's newest message, in seconds since 1970. */
  readonly lastAt: number;
  /** The years that have messages, each with the file names of its first and last page. */
  readonly years: readonly { readonly year: string; readonly first: string; readonly last: string }[];
}

/** Renders the list of all conversations, the one with the newest message first. */
export function listHtml(
  conversations: readonly ListedConversation[],
  { mac, at, calendar }: { readonly mac: string; readonly at: string; readonly calendar: Calendar },
): Html {
  const sorted = conversations.filter(({ messages }) => messages > 0).sort((a, b) => b.lastAt - a.lastAt);
  const total = sorted.reduce((sum, { messages }) => sum + messages, 0);
  const rows = sorted.map(({ key, title, subtitle, messages, lastAt, years }) => {
    const links = years.map(({ year, first }) => html`<a href="${CONVERSATIONS}/${key}/${first}">${year}</a> `);
    return html`<tr><td><a href="${CONVERSATIONS}/${key}/${years.at(-1)?.last}"><bdi>${title}</bdi></a>${
      subtitle !== '' && subtitle !== title && html`<small class="line"><bdi>${subtitle}</bdi></small>`
    }<small class="line years">${links}</small></td><td class="number">${messages.toLocaleString('en')}</td><td class="date">${calendar.date(isoSecond(lastAt * 1000))}</td></tr>
`;
  });
  return new Html(
    [
      pageBeginning('Messages').text,
      html`<header>
<h1>Messages</h1>
<p>${total.toLocaleString('en')} messages in ${sorted.length.toLocaleString('en')} conversations. Archived from ${mac} on ${calendar.moment(at)}.</p>
</header>
<main>
<table>
<thead><tr><th>Conversation</th><th class="number">Messages</th><th class="date">Newest</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
</main>
`.text,
      PAGE_END.text,
    ].join(''),
  );
}
