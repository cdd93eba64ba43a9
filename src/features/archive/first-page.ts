import { folded } from '../../core/model/folded.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import { CONVERSATIONS } from './archive-layout.ts';
import { avatarHtml } from './avatar-html.ts';
import { Html, html } from './html.ts';
import { type Calendar, PAGE_END, pageBeginning } from './page-frame.ts';

export interface ListedConversation {
  readonly key: string;
  readonly title: string;
  readonly subtitle: string;
  readonly address: string;
  readonly messages: number;
  /** Date of the conversation's newest message that is not still to be sent, in seconds since 1970. */
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
  const groups = byYear(sorted, calendar);
  return new Html(
    [
      pageBeginning('Messages').text,
      html`<header>
<h1>Messages</h1>
<p>${total.toLocaleString('en')} messages in ${sorted.length.toLocaleString('en')} conversations. Archived from ${mac} on ${calendar.moment(at)}.</p>
</header>
${sorted.length > MAX_WITHOUT_NAVIGATION && navigation(groups, lettersOf(sorted))}<main>
${groups.map(([year, all]) => yearHtml(year, all, calendar, groups.length > 1))}${
  sorted.length > MAX_WITHOUT_NAVIGATION && lettersOf(sorted).map(letterHtml)
}</main>
`.text,
      PAGE_END.text,
    ].join(''),
  );
}

/** A list with this many conversations can be looked through without links to years and letters. */
const MAX_WITHOUT_NAVIGATION = 50;
const OTHER = '#';

type Group = readonly [heading: string, conversations: readonly ListedConversation[]];

function pageOf({ key, years }: ListedConversation): string {
  return `${CONVERSATIONS}/${key}/${years.at(-1)?.last}`;
}

/** Groups the conversations by the year of their newest message. Keeps their order. */
function byYear(sorted: readonly ListedConversation[], calendar: Calendar): readonly Group[] {
  return grouped(sorted, ({ lastAt }) => calendar.year(isoSecond(lastAt * 1000)));
}

/** Groups the conversations by the first letter of their titles, in alphabetical order. */
function lettersOf(conversations: readonly ListedConversation[]): readonly Group[] {
  const letterOf = ({ title }: ListedConversation): string => {
    const [letter = ''] = folded(title);
    return /\p{L}/u.test(letter) ? letter.toUpperCase() : OTHER;
  };
  const order = new Intl.Collator('en').compare;
  const all = [...conversations].sort((a, b) => order(a.title, b.title));
  return [...grouped(all, letterOf)].sort(([a], [b]) => Number(a === OTHER) - Number(b === OTHER) || order(a, b));
}

function grouped(
  conversations: readonly ListedConversation[],
  headingOf: (conversation: ListedConversation) => string,
): readonly Group[] {
  const groups = new Map<string, ListedConversation[]>();
  for (const one of conversations) {
    const heading = headingOf(one);
    const group = groups.get(heading);
    if (group === undefined) groups.set(heading, [one]);
    else group.push(one);
  }
  return [...groups];
}

function navigation(years: readonly Group[], letters: readonly Group[]): Html {
  const links = (groups: readonly Group[], prefix: string) =>
    groups.map(([heading]) => html` <a href="#${idOf(prefix, heading)}">${heading}</a>`);
  return html`<div class="bar">
<nav aria-label="Years">By date: ${links(years, 'y')}</nav>
<nav aria-label="Letters">By name: ${links(letters, 'l')}</nav>
</div>
`;
}

/** Returns the anchor of a heading. A letter is named by its code, because an anchor must be plain text. */
function idOf(prefix: string, heading: string): string {
  return `${prefix}${/^\d+$/.test(heading) ? heading : (heading.codePointAt(0) ?? 0).toString(16)}`;
}

function yearHtml(year: string, all: readonly ListedConversation[], calendar: Calendar, hasHeading: boolean): Html {
  const months = all.length > MAX_WITHOUT_NAVIGATION ? byMonth(all, calendar) : [];
  const monthLinks = months.map(([month]) => html` <a href="#${monthId(year, month)}">${month}</a>`);
  const rowsOf = (some: readonly ListedConversation[]) => some.map((one) => rowHtml(one, calendar));
  return html`<section class="list" id="${idOf('y', year)}">
${hasHeading && html`<h2>${year}</h2>\n`}${months.length > 1 && html`<nav aria-label="Months of ${year}">${monthLinks}</nav>\n`}<table>
<thead><tr><th>Conversation</th><th class="number">Messages</th><th class="date">Newest</th></tr></thead>
${
  months.length > 1
    ? months.map(
        ([month, some]) => html`<tbody id="${monthId(year, month)}">
<tr class="month"><th colspan="3" scope="rowgroup">${month}</th></tr>
${rowsOf(some)}</tbody>
`,
      )
    : html`<tbody>
${rowsOf(all)}</tbody>
`
}</table>
</section>
`;
}

/** Groups the conversations of a year by the month of their newest message. Keeps their order. */
const byMonth = (all: readonly ListedConversation[], calendar: Calendar): readonly Group[] =>
  grouped(all, ({ lastAt }) => calendar.monthHere(isoSecond(lastAt * 1000)));

const monthId = (year: string, month: string): string => `m${year}${month}`;

function rowHtml(one: ListedConversation, calendar: Calendar): Html {
  const { key, title, subtitle, address, messages, lastAt, years } = one;

  const links = years.map((each) => html`<a href="${CONVERSATIONS}/${key}/${each.first}">${each.year}</a> `);
  return html`<tr><td><div class="person">${avatarHtml(title, address)}<div><a href="${pageOf(one)}"><bdi>${title}</bdi></a>${
    subtitle !== '' && subtitle !== title && html`<small class="line"><bdi>${subtitle}</bdi></small>`
  }${years.length > 1 && html`<small class="line years">${links}</small>`}</div></div></td><td class="number">${messages.toLocaleString('en')}</td><td class="date">${calendar.date(isoSecond(lastAt * 1000))}</td></tr>
`;
}

function letterHtml([letter, all]: Group): Html {
  const items = all.map((one, at) => {
    const hasTwin = [all[at - 1], all[at + 1]].some((other) => other?.title === one.title);
    return html`<li><a href="${pageOf(one)}"><bdi>${one.title}</bdi></a>${
      hasTwin && html` <small><bdi>${one.subtitle}</bdi></small>`
    }</li>\n`;
  });
  return html`<section class="list" id="${idOf('l', letter)}"><h2>${letter}</h2>
<ul class="names">
${items}</ul>
</section>
`;
}
