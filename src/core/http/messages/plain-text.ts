import MarkdownIt, { type Token } from 'markdown-it';
import { invalidRequest } from '../../model/problems.ts';
import { MAX_BODY } from './schema.ts';

/**
 * Maximum nesting of marks; deeper marks stay as typed. The time to find the end of a link grows with this number times
 * the link's length.
 */
const MAX_NESTING = 20;

/**
 * Parses Markdown. Does not recognise marks whose removal would change the meaning, such as `~~` around struck-out
 * text. Such marks stay in the text.
 */
const parser = new MarkdownIt('default', { html: true, linkify: false, typographer: false, maxNesting: MAX_NESTING });
parser.disable('strikethrough');
// Keeps the address of a link as typed.
parser.normalizeLink = (url) => url;
parser.normalizeLinkText = (url) => url;

/** A list, list item or quotation. `first` is the prefix of its first line, `rest` the prefix of all other lines. */
interface Container {
  readonly first: string;
  readonly rest: string;
  /** True for a list whose items have no blank lines between them. */
  readonly isTight: boolean;
  hasLine: boolean;
  hasBlock: boolean;
}

/**
 * Renders Markdown as the plain text to send (decision X2). Removes marks, except those of lists and quotations. Writes
 * a link as `text (url)` and a table row as a line. Keeps every byte of code. Throws `invalid_request` if the text has
 * more than 20,000 characters.
 */
export function plainText(markdown: string): string {
  const page = new Page();
  const tokens = parser.parse(markdown, {});
  let cells: string[] = [];
  for (const [index, token] of tokens.entries()) {
    switch (token.type) {
      case 'bullet_list_open':
      case 'ordered_list_open':
        page.beginBlock();
        page.open({ first: '', rest: '', isTight: isTight(tokens, index) });
        break;
      case 'list_item_open': {
        page.beginBlock();
        const marker = token.info === '' ? '- ' : `${token.info}${token.markup} `;
        page.open({ first: marker, rest: ' '.repeat(marker.length), isTight: page.isTight });
        break;
      }
      case 'blockquote_open':
        page.beginBlock();
        page.open({ first: '> ', rest: '> ', isTight: false });
        break;
      case 'list_item_close':
        // An empty item still gets its marker.
        page.writeMarker();
        page.close();
        break;
      case 'bullet_list_close':
      case 'ordered_list_close':
      case 'blockquote_close':
        page.close();
        break;
      case 'inline':
        if (tokens[index - 1]?.type === 'th_open' || tokens[index - 1]?.type === 'td_open') {
          cells.push(inlineText(token).replaceAll('\n', ' '));
        } else page.block(inlineText(token));
        break;
      case 'table_open':
        page.beginBlock();
        break;
      case 'tr_close':
        page.write(cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1).join(' | '));
        cells = [];
        break;
      case 'fence':
      case 'code_block':
      case 'html_block':
        page.block(token.content.replace(/\n$/, ''));
        break;
      case 'hr':
        page.block(token.markup);
        break;
      default:
    }
  }
  return page.text;
}

/** Collects the lines of the plain text. Each begins with the prefixes of the lists and quotations around it. */
class Page {
  readonly #lines: string[] = [];
  readonly #containers: Container[] = [{ first: '', rest: '', isTight: false, hasLine: false, hasBlock: false }];
  #length = 0;

  get text(): string {
    return this.#lines.join('\n');
  }

  /** True within a list whose items have no blank lines between them. */
  get isTight(): boolean {
    return this.#containers.at(-1)?.isTight === true;
  }

  open(container: Pick<Container, 'first' | 'rest' | 'isTight'>): void {
    this.#containers.push({ ...container, hasLine: false, hasBlock: false });
  }

  close(): void {
    this.#containers.pop();
  }

  /** Begins a block. First writes a blank line, unless the block is the first of its container or the list is tight. */
  beginBlock(): void {
    const container = this.#containers.at(-1);
    if (container === undefined) return;
    if (container.hasBlock && !container.isTight) this.write('');
    container.hasBlock = true;
  }

  block(text: string): void {
    this.beginBlock();
    for (const line of text.split('\n')) this.write(line);
  }

  write(line: string): void {
    const whole = `${this.#prefix()}${line}`;
    const kept = line === '' ? whole.trimEnd() : whole;
    this.#length += kept.length + 1;
    if (this.#length > MAX_BODY + 1) throw tooLong();
    this.#lines.push(kept);
  }

  writeMarker(): void {
    if (this.#containers.at(-1)?.hasLine === false) this.write('');
  }

  #prefix(): string {
    let prefix = '';
    for (const container of this.#containers) {
      prefix += container.hasLine ? container.rest : container.first;
      container.hasLine = true;
    }
    return prefix;
  }
}

/** Reports whether the list's items have no blank lines between them. */
function isTight(tokens: readonly Token[], at: number): boolean {
  const level = tokens[at]?.level ?? 0;
  for (let index = at + 1; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined || (token.level === level && token.nesting === -1)) return true;
    if (token.type === 'paragraph_open' && token.level === level + 2) return token.hidden;
  }
  return true;
}

function inlineText({ children }: Token): string {
  let text = '';
  const links: { readonly url: string; readonly from: number }[] = [];
  for (const token of children ?? []) {
    switch (token.type) {
      case 'softbreak':
      case 'hardbreak':
        text += '\n';
        break;
      case 'link_open':
        links.push({ url: String(token.attrGet('href') ?? ''), from: text.length });
        break;
      case 'link_close': {
        const { url = '', from = 0 } = links.pop() ?? {};
        const shown = text.slice(from);
        const isUrl = shown === url || `mailto:${shown}` === url;
        if (!isUrl && url !== '') text += shown === '' ? url : ` (${url})`;
        break;
      }
      case 'image': {
        const url = String(token.attrGet('src') ?? '');
        text += token.content === '' ? url : `${token.content} (${url})`;
        break;
      }
      default:
        // A token that opens or closes emphasis has an empty `content`, so its marks are dropped.
        text += token.content;
    }
    if (text.length > 2 * MAX_BODY) throw tooLong();
  }
  return text;
}

function tooLong(): Error {
  const message = `As plain text, \`body\` must have at most ${MAX_BODY} characters.`;
  return invalidRequest([{ pointer: '/body', message }]);
}
