import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import type * as TypeScript from 'typescript';
import { partsOf } from './support/parts.ts';

const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
const root = resolve(fileURLToPath(new URL('..', import.meta.url)));
const MOST_LINES = { file: 350, function: 60, test: 400 };

/** Functions that are longer, as `file: name`. The list only shrinks. */
const LONG_FUNCTIONS: readonly string[] = [
  // It is one list of cases or declarations, which reads from top to bottom.
  'src/features/simulator/demo-commands.ts: declareDemoCommands',
  'src/features/simulator/row-commands.ts: changeRow',
  'src/features/simulator/simulated-messages.ts: perform',
  // Its steps share what they have read so far. It is split when it is next changed.
  'src/features/doctor/diagnostic-reader.ts: watch',
  // It returns an object of functions, which are short.
  'src/core/state/changes-store.ts: changeStore, with what it returns',
  'src/core/state/sent-parts-store.ts: sentPartStore, with what it returns',
  'src/features/access/caller-approvals.ts: callerApprovals, with what it returns',
  'src/features/access/limited-reader.ts: limitedReader, with what it returns',
  'src/features/access/limited-webhooks.ts: limitedWebhooks, with what it returns',
  'src/features/access/state/audit-store.ts: auditStore, with what it returns',
  'src/features/fleet/agent/agent.ts: openAgent, with what it returns',
];

const MOST_PARTS = 8;

/** The core, with which every feature is opened. The numbers only fall: lower them here when they do. */
const CORE_PARTS = { Core: 49, CoreBase: 16, CoreMac: 10, CoreEvents: 11 };

function files(folder: string, ending: RegExp): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('node_modules'));
}

function isLong(file: string, most: number): boolean {
  return readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length > most;
}

/** Returns the lines of the functions in the object that a function returns. */
function returnedLines(body: TypeScript.Node | undefined, lines: (part: TypeScript.Node) => number): number {
  const last = body !== undefined && ts.isBlock(body) ? body.statements.at(-1) : undefined;
  let returned = last !== undefined && ts.isReturnStatement(last) ? last.expression : undefined;
  if (returned !== undefined && ts.isSatisfiesExpression(returned)) returned = returned.expression;
  if (returned === undefined || !ts.isObjectLiteralExpression(returned)) return 0;
  const functions = returned.properties.map((one) => (ts.isPropertyAssignment(one) ? one.initializer : one));
  return functions.filter(ts.isFunctionLike).reduce((sum, one) => sum + lines(one), 0);
}

/** Returns the functions of a file that have too many lines, as they are listed. */
function longFunctions(file: string): readonly string[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.ES2022, true);
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const found: string[] = [];
  const lines = (part: TypeScript.Node): number => lineOf(part.end) - lineOf(part.getStart(source)) + 1;
  const visit = (node: TypeScript.Node): void => {
    if (lines(node) <= MOST_LINES.function) return;
    const isFunction = ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
    if (isFunction) {
      const named = node.name ?? ('name' in node.parent ? node.parent.name : undefined);
      const isLongAlone = lines(node) - returnedLines(node.body, lines) > MOST_LINES.function;
      const name = named?.getText(source) ?? 'constructor';
      found.push(`${file}: ${name}${isLongAlone ? '' : ', with what it returns'}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

// Decision AD3.
test('no file of src has more than 350 lines, and no test more than 400', () => {
  const sources = [...files('src', /\.(?:tsx?|css)$/), ...files('installer', /\.ts$/), ...files('docs', /\.css$/)];
  expect(sources.filter((file) => isLong(file, MOST_LINES.file))).toEqual([]);
  expect(files('test', /\.ts$/).filter((file) => isLong(file, MOST_LINES.test))).toEqual([]);
});

test('no comment is wider than code', () => {
  const sources = [...files('src', /\.tsx?$/), ...files('installer', /\.ts$/), ...files('test', /\.ts$/)];
  const wide = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => line.length > 120 && /^\s*(?:\/\*\*|\*|\/\/) (?!https?:|biome-ignore)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(wide).toEqual([]);
});

test('no function of src has more than 60 lines, but for those that are listed', () => {
  const sources = [...files('src', /\.tsx?$/), ...files('installer', /\.ts$/)];
  const found = sources.filter((file) => isLong(file, MOST_LINES.function)).flatMap(longFunctions);
  expect(found.sort()).toEqual([...LONG_FUNCTIONS].sort());
});

test('nothing but the core is made of more than eight parts', () => {
  const large = [...partsOf(/.Parts$|Core/)].filter(([, parts]) => parts.length > MOST_PARTS);
  expect(Object.fromEntries(large.map(([name, parts]) => [name, parts.length]))).toEqual(CORE_PARTS);
});
