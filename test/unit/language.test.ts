import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');

/** "For" before "every" and its compounds, without the space. */
const MERGED_FOR = 'forever[a-z]+';
const IDIOMS = [
  'is had',
  'can be had',
  'is told',
  'gives back',
  'as it is now',
  'anew',
  'mend(?:s|ed|ing)?',
  MERGED_FOR,
];
const PHRASES = [
  ...IDIOMS,
  '(?:is|are) there for',
  'is said of',
  'so long',
  'what is so',
  'is given',
  'whoever',
  'for ever',
  'nowhere',
  'of its own',
  // "Own" needs an owner: "its own row", otherwise "an outgoing row".
  'an own',
  '(?:goes|go) on',
  'so many',
  'cannot be told',
  'the trouble',
  'everybody',
  // After these words it is plain English: "part of it", "because of it".
  '(?<!\\b(?:ahead|all|any|because|each|front|instead|most|much|none|out|part|rest|some) )of it',
  // As a subject: "what it holds is read". Not in "know what it is".
  'what (?!to\\b|(?:it|that|this) is\\b)[a-z ]{1,20} is',
];

const anyOf = (phrases: readonly string[]): RegExp =>
  new RegExp(String.raw`\b(?:${phrases.join('|').replaceAll(' ', String.raw`\s+`)})\b`, 'gi');
const ANY_IDIOM = anyOf(IDIOMS);
const ANY_PHRASE = anyOf(PHRASES);
const BEGINNING = /(?<=^\s*|[.?!]\s+)(?:Of|What|Who|Whether|Where)\b|(?<=^\s*)The same\b/g;

const LOG_CALL = /\blog\.(?:debug|info|warn|error|fatal)$/i;

interface Find {
  readonly line: number;
  readonly phrase: string;
}

/** Returns each phrase of `text` that a pattern finds, with its line. `before` is what precedes the text in its file. */
function findsIn(text: string, patterns: readonly RegExp[], before = ''): readonly Find[] {
  const lines = before.split('\n').length - 1;
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map(({ 0: phrase, index }) => ({
      line: lines + text.slice(0, index).split('\n').length,
      phrase: phrase.replace(/\s+/g, ' '),
    }));
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ');

/** The phrases in the comments, log lines and other texts of one source file. */
function phrasesOf(file: string, text: string): readonly Find[] {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const finds: Find[] = [];
  let withoutTexts = '';
  let end = 0;
  const visit = (node: ts.Node, isLogged: boolean): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node)) {
      const start = node.getStart(tree);
      const literal = text.slice(start, node.end);
      withoutTexts += text.slice(end, start) + blank(literal);
      end = node.end;
      if (!ts.isRegularExpressionLiteral(node)) {
        finds.push(...findsIn(literal, [isLogged ? ANY_PHRASE : ANY_IDIOM], text.slice(0, start)));
      }
    }
    const logs = isLogged || (ts.isCallExpression(node) && LOG_CALL.test(node.expression.getText(tree)));
    ts.forEachChild(node, (child) => visit(child, logs));
  };
  visit(tree, false);
  withoutTexts += text.slice(end);
  for (const { 0: comment, index } of withoutTexts.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*/g)) {
    const words = comment.replace(/^\/(?:\*+|\/)|\n[ \t]*(?:\*|\/\/)/g, blank);
    finds.push(...findsIn(words, [ANY_PHRASE, BEGINNING], text.slice(0, index)));
  }
  return finds;
}

const named = (path: string, finds: readonly Find[]): readonly string[] =>
  finds.map(({ line, phrase }) => `${path}:${line}: ${phrase}`);

function filesIn(folder: string, ending: RegExp): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

describe('translated phrases', () => {
  test('are found in comments, log lines and other texts, with their lines', () => {
    const source = `
/** Of a row. Returns what
 * is so. */
const of = 'Of it'; // Whoever. The same.
/**
 * The same: part of it.
 * Where it is, so
 * long.
 */
log.warn(\`it \${is} given: \${why(\`is said of it\`)}\`, /mend/);
say("can be had at 'http://anew'"); // Knows what it is.
`;
    expect(named('f', phrasesOf('f.ts', source)).toSorted()).toEqual([
      'f:10: is said of',
      'f:11: anew',
      'f:11: can be had',
      'f:2: Of',
      'f:2: what is so',
      'f:4: Whoever',
      'f:6: The same',
      'f:7: Where',
      'f:7: so long',
    ]);
  });

  test.each(['installer', 'src'])('are absent from %s', (folder) => {
    const finds = filesIn(folder, /\.(?:tsx?|mjs|cjs|js)$/).flatMap((path) =>
      named(path, phrasesOf(path, readFileSync(join(ROOT, path), 'utf8'))),
    );
    expect(finds).toEqual([]);
  });

  test('and "for" merged with the next word are absent from the tests', () => {
    const finds = filesIn('test', /\.(?:ts|mjs)$/).flatMap((path) =>
      named(path, findsIn(readFileSync(join(ROOT, path), 'utf8'), [anyOf([MERGED_FOR])])),
    );
    expect(finds).toEqual([]);
  });

  test('are absent from the documents', () => {
    const pages = [
      ...filesIn('docs', /\.md$/),
      ...filesIn('.', /\.md$/),
      ...filesIn('src/features/console', /\.html$/),
    ];
    const finds = pages.flatMap((path) => named(path, findsIn(readFileSync(join(ROOT, path), 'utf8'), [ANY_IDIOM])));
    expect(finds).toEqual([]);
  });
});
