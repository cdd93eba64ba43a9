import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from 'esbuild';
import type { ProblemText } from '../../src/core/model/problem-text.ts';
import { PROBLEMS } from '../../src/core/model/problems.ts';
import { FEATURES } from '../../src/features/list.ts';
import { deletedWith, featureNames } from '../support/without-features.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

/** The pages that hold decisions: one for the core, and one beside each feature. */
const DECISION_PAGES = [
  'src/core/docs.md',
  ...readdirSync(join(ROOT, 'src/features')).map((name) => `src/features/${name}/docs.md`),
].filter((path) => existsSync(join(ROOT, path)));
const decisionsOn = (page: string): string[] => all(read(page), /^\*\*([A-Z]{1,2}\d{0,2})\b/gm);
const DECISION_IDS = DECISION_PAGES.flatMap(decisionsOn);
const DECISIONS = new Set(DECISION_IDS);
const RULES = all(read('docs/project/contract.md'), /^- \*\*(\d+\.\d+)\*\*/gm);
const KNOWN = new Set([...DECISIONS, ...RULES]);

const ID = String.raw`[A-Z]{1,2}\d{0,2}\b`;
const LIST = String.raw`((?:${ID}|\d+\.\d+)(?:(?:, | and | to )(?:${ID}|\d+\.\d+))*)`;

const FILES = ['src', 'installer', 'tools', 'test', 'docs', 'launchd', 'bench', '.'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => /^(?!.*node_modules).*\.(ts|js|mjs|cjs|sh|sql|applescript|md|plist|toml|css|html)$/.test(name))
    .map((name) => join(folder, name)),
);
const SOURCES = FILES.filter((path) => /^(src|installer|test|bench)\/.*\.(ts|js|mjs|cjs)$/.test(path));

/**
 * Splits a file into its comments, line by line, and its code. Good enough here: `//` in a string always follows a
 * colon.
 */
function divided(text: string): { readonly comments: string; readonly code: string } {
  const pattern = /\/\*[\s\S]*?\*\/|(?<![:'"`\\/])\/\/.*$/gm;
  return { comments: (text.match(pattern) ?? []).join('\n'), code: text.replace(pattern, '') };
}

test('no two decisions have the same id', () => {
  expect(DECISION_IDS).toHaveLength(DECISIONS.size);
});

/** Returns the ids of the decisions and rules that a file cites. */
function citedIn(path: string): readonly string[] {
  return all(
    read(path).replace(/\n\s*(?:\*|\/\/|--|#)?\s*/g, ' '),
    new RegExp(String.raw`\b(?:[Dd]ecisions?|[Cc]ontract) ${LIST}`, 'g'),
  ).flatMap((list) => list.split(/, | and | to /));
}

describe('a citation', () => {
  test('leads to a decision or a rule of the contract that exists', () => {
    const lost = FILES.flatMap((path) =>
      citedIn(path)
        .filter((id) => !KNOWN.has(id))
        .map((id) => `${path}: ${id}`),
    );
    expect(lost).toEqual([]);
  });

  test('leads to no decision of a feature without which the file stays (decision AD1)', () => {
    const gone = new Map(
      featureNames().flatMap((name) => {
        const page = `src/features/${name}/docs.md`;
        const folders = deletedWith(name).flatMap((other) => [`src/features/${other}/`, `test/${other}/`]);
        return DECISION_PAGES.includes(page) ? decisionsOn(page).map((id) => [id, folders] as const) : [];
      }),
    );
    const lost = SOURCES.flatMap((path) =>
      citedIn(path)
        .filter((id) => gone.get(id)?.some((folder) => path.startsWith(folder)) === false)
        .map((id) => `${path}: ${id}`),
    );
    expect(lost).toEqual([]);
  });

  test('in a comment is written "decision B4", "decisions C4, C5" or "contract 1.2"', () => {
    const odd = SOURCES.flatMap((path) => {
      const text = divided(read(path)).comments.replace(/\n\s*(?:\*|\/\/)?\s*/g, ' ');
      const bare = text.replace(new RegExp(String.raw`\b(?:[Dd]ecisions?|[Cc]ontract) ${LIST}`, 'g'), '');
      return all(
        bare,
        /(\b(?:[A-HOT]|A[A-D])\d{1,2}\b|\([A-Z]{1,2}\d{1,2}(?=[),;:])|\bsections? (?:[A-Z]|A[A-D])\b)/g,
      ).map((id) => `${path}: ${id}`);
    });
    expect(odd).toEqual([]);
  });

  test('is never in a text that a user reads', () => {
    const shown = SOURCES.filter((path) => /^(src|installer)\//.test(path)).flatMap((path) =>
      all(
        divided(read(path)).code,
        new RegExp(
          String.raw`(\((?:[A-HOT]|A[A-D])\d{1,2}\b|\b(?:[Dd]ecisions?|[Cc]ontract) ${LIST}|sections? (?:[A-Z]|A[A-D])\b)`,
          'g',
        ),
      ).map((id) => `${path}: ${id}`),
    );
    expect(shown).toEqual([]);
  });
});

test('a comment that says what is thrown names an error that exists', () => {
  const code = SOURCES.map((path) => divided(read(path)).code).join('\n');
  const codes = new Set([
    ...FEATURES.flatMap(({ problems = {} }) => Object.keys(problems)),
    ...Object.entries(PROBLEMS).flatMap(([name, { code = name }]: [string, ProblemText]) => [name, code]),
    ...all(code, /new AppError\(\s*'(\w+)'/g),
  ]);
  expect(codes.size).toBeGreaterThan(100);
  const thrown =
    /\b(?:[Tt]hrows?|[Rr]ejects?)(?: at once)?(?: with)?(?: AppError)?((?:(?:,| or| and)* ?(?:\d{3} )?`[a-z]+(?:_[a-z]+)*`)+)/g;
  const wrong = SOURCES.filter((path) => /^(src|installer)\//.test(path)).flatMap((path) =>
    all(divided(read(path)).comments.replace(/\n\s*(?:\*|\/\/)?\s*/g, ' '), thrown)
      .flatMap((list) => all(list, /`(\w+)`/g))
      .filter((name) => !codes.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

test('a symbol named together with a file is declared in that file', () => {
  const code = /\.(?:ts|js|mjs|cjs)$/;
  const sources = [...SOURCES, ...FILES.filter((path) => /^(?:tools\/)?[\w-]+\.mjs$/.test(path))];
  const pairs = FILES.flatMap((path) => {
    const text = read(path).replace(/\n\s*(?:\*|\/\/)?\s*/g, ' ');
    return [...text.matchAll(/`([A-Za-z]\w*)` (?:in |\()`((?:[\w-]+\/)+[\w.-]*|[\w-]+\.(?:ts|mjs))`/g)].map(
      ([, symbol = '', file = '']) => ({ path, symbol, file: file.replace(/\/$/, '') }),
    );
  });
  expect(pairs.length).toBeGreaterThan(10);
  const wrong = pairs.filter(({ symbol, file }) => {
    const named = sources.filter((one) => `/${one.replace(code, '')}/`.includes(`/${file.replace(code, '')}/`));
    const declared = new RegExp(
      `\\b(?:const|function|class|interface|type) ${symbol}\\b|^ +(?:async )?${symbol}\\(|\\b${symbol}\\??: `,
      'm',
    );
    return !named.some((one) => declared.test(read(one)));
  });
  expect(wrong).toEqual([]);
});

test.each(['access', 'core'])(
  'every text that a mutation of %s replaces stands in the source once, and what replaces it can be compiled',
  (list) => {
    const mutations = JSON.parse(read(`test/mutations/${list}.json`)) as readonly Readonly<
      Record<'name' | 'file' | 'text' | 'mutated', string>
    >[];
    const wrong = mutations.filter(({ file, text }) => read(file).split(text).length !== 2).map(({ name }) => name);
    expect(wrong).toEqual([]);
    for (const { file, text, mutated } of mutations) {
      transformSync(
        read(file).replace(text, () => mutated),
        { loader: file.endsWith('x') ? 'tsx' : 'ts', sourcefile: file },
      );
    }
  },
);

const TEST_NAME = /`([a-z\d]+\/[\w-]+)`/g;

function pathOfTest(name: string): string | undefined {
  return ['.test.ts', '.mjs'].map((ending) => `test/${name}${ending}`).find((path) => existsSync(join(ROOT, path)));
}

test('every row of docs/project/guarantees.md names tests that exist', () => {
  const rows = all(read('docs/project/guarantees.md'), /^\| (?!fault |---)(.+)/gm);
  expect(rows.length).toBeGreaterThan(20);
  const wrong = rows.filter((row) => {
    const tests = all(row.split(' | ')[1] ?? '', TEST_NAME);
    return tests.length === 0 || !tests.every((name) => pathOfTest(name) !== undefined);
  });
  expect(wrong).toEqual([]);
});

describe('test/contract.md', () => {
  const rows = read('test/contract.md')
    .split('\n')
    .flatMap((line) => {
      const [, rule = '', , tests = ''] = line.split('|').map((cell) => cell.trim());
      return /^\d+\.\d+$/.test(rule) ? [{ rule, tests }] : [];
    });

  test('has a row for every rule, in order, and no other', () => {
    expect([...new Set(rows.map(({ rule }) => rule))]).toEqual(RULES);
  });

  test('names no test file that does not exist', () => {
    const names = all(read('test/contract.md'), TEST_NAME);
    expect(names.filter((name) => pathOfTest(name) === undefined)).toEqual([]);
  });

  test('names the groups of tests that are in those files', () => {
    const missing: string[] = [];
    for (const { rule, tests } of rows) {
      let text = '';
      for (const part of tests.split(/[;›]/)) {
        const files = all(part, TEST_NAME);
        for (const file of files) {
          const path = pathOfTest(file);
          if (path === undefined) missing.push(`${rule}: ${file}`);
          else text = read(path);
        }
        if (files.length > 0 || part.includes('every test')) continue;
        for (const name of part.trim().split(', ')) if (!text.includes(`'${name}`)) missing.push(`${rule}: › ${name}`);
      }
    }
    expect(missing).toEqual([]);
  });
});
