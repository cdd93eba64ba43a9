/** AppleScript's own words, as far as our scripts use them. */
const OWN_WORDS = new Set(
  `a an and as contains contents count does else end equal equals error every exists false first get greater if in is it
   its less list make me missing my not number of or ref reference repeat return returns second seconds set some tell text
   than that the then timeout to true try value whose with without`.split(/\s+/),
);
const FORBIDDEN = ['do shell script', 'run script', 'load script', 'store script', 'system attribute', 'do script'];
const MESSAGES = 'tell application id STRING';

interface Line {
  readonly number: number;
  /** The line without comments, and with every string replaced by `STRING`. */
  readonly code: string;
  readonly strings: readonly string[];
}

interface Block {
  readonly kind: string;
  readonly line: number;
  readonly isMessages: boolean;
}

/** Returns the mistakes in a script that reading alone can find: only macOS can compile one. */
export function applescriptMistakes(text: string, terms: readonly string[]): readonly string[] {
  const mistakes: string[] = [];
  const lines = linesOf(text, mistakes);
  const handlers = new Set(lines.flatMap(({ code }) => /^(?:on|to) (\w+)\s*\(/.exec(code)?.[1] ?? []));
  const blocks: Block[] = [];
  for (const line of lines) {
    const say = (mistake: string): void => void mistakes.push(`line ${line.number}: ${mistake}`);
    follow(line, blocks, say);
    for (const phrase of FORBIDDEN) if (line.code.includes(phrase)) say(`${phrase} is not allowed`);
    if (line.code.includes('&')) say('& builds a string');
    for (const [, before = '', name = ''] of line.code.matchAll(/(\w+)?(?:^|\s|\(|\))(\w+)\(/g)) {
      if (/^(on|to)$/.test(before)) continue;
      if (before === 'my' && !handlers.has(name)) say(`there is no handler ${name}`);
      if (before !== 'my' && handlers.has(name)) say(`${name}() is called without my`);
    }
    for (const word of unknownWords(messagesPart(line, blocks), variablesOf(lines), terms)) {
      say(`Messages knows no ${word}`);
    }
  }
  for (const { kind, line } of blocks) mistakes.push(`line ${line}: ${kind} has no end`);
  return mistakes;
}

/** Returns the words of Messages' dictionary that a script uses. */
export function messagesWords(text: string, terms: readonly string[]): readonly string[] {
  const lines = linesOf(text, []);
  const blocks: Block[] = [];
  const used = new Set<string>();
  for (const line of lines) {
    follow(line, blocks, () => {});
    byLength(terms).reduce(
      (rest, term) => {
        if (termPattern(term).test(rest)) used.add(term);
        return rest.replaceAll(termPattern(term), ' ');
      },
      ` ${messagesPart(line, blocks)} `,
    );
  }
  return [...used];
}

/** Opens or closes the block that a line begins or ends. */
function follow(line: Line, blocks: Block[], say: (mistake: string) => void): void {
  const { code } = line;
  const top = blocks.at(-1);
  const end = /^end(?: (.+))?$/.exec(code);
  if (end !== null) {
    const closed = blocks.pop();
    if (closed === undefined) say(`${code} closes nothing`);
    else if (end[1] !== undefined && end[1] !== closed.kind) {
      say(`${code} closes ${closed.kind} of line ${closed.line}`);
    }
    return;
  }
  if (/^else\b/.test(code)) {
    if (top?.kind !== 'if') say('else is not in an if');
    return;
  }
  if (/^on error\b/.test(code)) {
    if (top?.kind !== 'try') say('on error is not in a try');
    return;
  }
  const kind = opened(code);
  if (kind === undefined) return;
  const isMessages = (top?.isMessages ?? false) || isTellMessages(line);
  blocks.push({ kind, line: line.number, isMessages: kind === 'tell' ? isTellMessages(line) : isMessages });
}

function opened(code: string): string | undefined {
  const handler = /^(?:on|to) (\w+)(?:\s*\(|$)/.exec(code);
  if (handler !== null) return handler[1];
  if (/^tell\b/.test(code)) return / to /.test(code) ? undefined : 'tell';
  if (/^if\b/.test(code)) return /\bthen$/.test(code) ? 'if' : undefined;
  if (/^with timeout\b/.test(code)) return 'timeout';
  return /^(try|repeat|considering|ignoring)\b/.exec(code)?.[1];
}

function isTellMessages({ code, strings }: Line): boolean {
  return code.startsWith(MESSAGES) && strings[0] === 'com.apple.MobileSMS';
}

/** Returns the part of the line that Messages' dictionary applies to. */
function messagesPart(line: Line, blocks: readonly Block[]): string {
  if (isTellMessages(line)) return line.code.slice(MESSAGES.length).replace(/^ to /, '');
  const isInside = blocks.at(-1)?.isMessages === true;
  return isInside ? line.code.replace(/\bmy \w+\(/g, '(') : '';
}

/** Returns the names that the file itself defines: variables and parameters of handlers. */
function variablesOf(lines: readonly Line[]): ReadonlySet<string> {
  const names = lines.flatMap(({ code }) => [
    ...[...code.matchAll(/\b(?:set|copy .* to|repeat with) (\w+)/g)].map(([, name]) => name ?? ''),
    ...(/^(?:on|to) \w+\s*\(([^)]*)\)/.exec(code)?.[1]?.split(/\s*,\s*/) ?? []),
    ...[...code.matchAll(/\bthe[A-Z]\w*/g)].map(([name]) => name),
  ]);
  return new Set(names);
}

function unknownWords(part: string, variables: ReadonlySet<string>, terms: readonly string[]): readonly string[] {
  const rest = byLength(terms).reduce((text, term) => text.replaceAll(termPattern(term), ' '), ` ${part} `);
  const words = rest.match(/(?<!\w)[A-Za-z_]\w*/g) ?? [];
  return words.filter((word) => word !== 'STRING' && !OWN_WORDS.has(word.toLowerCase()) && !variables.has(word));
}

function byLength(terms: readonly string[]): readonly string[] {
  return terms.toSorted((a, b) => b.length - a.length);
}

function termPattern(term: string): RegExp {
  return new RegExp(`(?<=\\W)${term}s?(?=\\W)`, 'g');
}

/** Joins lines at their continuations, removes comments, and replaces each string by one word. */
function linesOf(text: string, mistakes: string[]): readonly Line[] {
  const withoutBlocks = text.replace(/\(\*[\s\S]*?\*\)/g, (comment) => comment.replace(/[^\n]/g, ''));
  return withoutBlocks.split('\n').flatMap((raw, index) => {
    const strings: string[] = [];
    let code = raw.replace(/"((?:[^"\\]|\\.)*)"|--.*$/g, (_all, string?: string) => {
      if (string === undefined) return '';
      strings.push(string);
      return 'STRING';
    });
    if (code.includes('"')) mistakes.push(`line ${index + 1}: the string has no end`);
    code = code.trim().replace(/\s+/g, ' ');
    return code === '' ? [] : [{ number: index + 1, code, strings }];
  });
}
