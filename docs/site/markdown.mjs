// One page of Markdown: its HTML, its headings, and its parts for the search.
import { Marked } from '../../tools/packages.mjs';

/** `link` gives the address of a link in the guide, or undefined where there is none. */
export function readPage(source, link) {
  const headings = [];
  const parts = [{ heading: '', id: '', text: '' }];
  const named = [];
  const ids = new Map();
  const marked = new Marked({ gfm: true });
  const plain = (tokens) => tokens.map((token) => (token.tokens ? plain(token.tokens) : (token.text ?? ''))).join('');
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const id = idOf(plain(tokens), ids);
        const html = this.parser.parseInline(tokens);
        if (depth === 2) headings.push({ id, html });
        if (depth > 1) parts.push({ heading: plain(tokens), id, text: '' });
        else parts[0].heading = plain(tokens);
        return `<h${depth} id="${id}">${html}</h${depth}>\n`;
      },
      link({ href, title, tokens }) {
        const html = this.parser.parseInline(tokens);
        const to = link(href);
        return to === undefined
          ? html
          : `<a href="${attribute(to)}"${title ? ` title="${attribute(title)}"` : ''}>${html}</a>`;
      },
      image({ href, text }) {
        return `<img src="${attribute(link(href) ?? '')}" alt="${attribute(text)}" loading="lazy">`;
      },
      html({ text }) {
        return text
          .replaceAll(/<!--[\s\S]*?-->\n?/g, '')
          .replaceAll(/(src|srcset)="([^"]+)"/g, (_, name, href) => `${name}="${attribute(link(href) ?? '')}"`);
      },
      table({ header, rows }) {
        const row = (cells, tag, id = '') =>
          `<tr${id}>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>\n`;
        const names = namedRows(header, rows);
        const body = rows.map((cells, at) => {
          if (names[at] === undefined) return row(cells, 'td');
          const id = idOf(names[at], ids);
          const text = cells.map(({ tokens }) => words(this.parser.parseInline(tokens))).join(' ');
          named.push({ heading: names[at], id, text });
          return row(cells, 'td', ` id="${id}"`);
        });
        return `<div class="table" tabindex="0"><table><thead>${row(header, 'th')}</thead><tbody>${body.join('')}</tbody></table></div>\n`;
      },
      code({ text, lang }) {
        return `<pre tabindex="0"${lang ? ` data-lang="${attribute(lang)}"` : ''}><code>${escaped(text)}\n</code></pre>\n`;
      },
    },
  });
  const tokens = marked.lexer(source);
  const html = tokens
    .map((token) => {
      const made = marked.parser([token]);
      if (token.type !== 'heading') parts.at(-1).text += ` ${words(made)}`;
      return made;
    })
    .join('');
  return { html, headings, parts: [...parts, ...named] };
}

/** Names for the search: the rows of a table of commands, or of settings, which are `section` and `key`. */
function namedRows(header, rows) {
  const [first, second] = header.map(({ text }) => text);
  const name = (cell) => /^`([^`]+)`/.exec(cell?.text ?? '')?.[1];
  if (first === 'command') return rows.map(([cell]) => name(cell));
  if (first !== 'section' || second !== 'key') return rows.map(() => undefined);
  let section = '';
  return rows.map(([group, key]) => {
    section = name(group) ?? section;
    return name(key) && `${section}.${name(key)}`;
  });
}

/** As GitHub makes them, so that one link works in both. */
function idOf(heading, ids) {
  const id = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
  const count = ids.get(id) ?? 0;
  ids.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}

function words(html) {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function attribute(text) {
  return escaped(text).replaceAll('"', '&quot;');
}
