import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { codeSamples } from '../../src/api/openapi/code-samples.ts';
import { openApi } from '../../src/api/openapi/openapi.ts';
import { OPERATIONS } from '../../src/api/openapi/operations.ts';
import { documentsOf } from '../../src/core/feature.ts';
import { FEATURES } from '../../src/features/list.ts';
import { ROUTES, type RouteId } from '../../src/schema/routes.ts';
import { temporaryFolder } from '../support/temporary.ts';

const documents = await documentsOf(FEATURES);

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const root = temporaryFolder();
const IDS = Object.keys(ROUTES) as RouteId[];

/** Writes the samples of every operation in one language. Returns their paths. */
function written(lang: string, ending: string): { readonly folder: string; readonly files: readonly string[] } {
  const folder = join(root, ending);
  mkdirSync(folder);
  const files = IDS.map((id) => {
    const { source = '' } =
      codeSamples(id, { route: ROUTES[id], operation: OPERATIONS[id] }).find((sample) => sample.lang === lang) ?? {};
    expect([id, source]).toEqual([id, expect.stringMatching(/.{20}/)]);
    const file = join(folder, `${id}.${ending}`);
    writeFileSync(file, `${source}\n`);
    return file;
  });
  return { folder, files };
}

function run(program: string, args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

const FINE = { status: 0, said: '' };

test('every operation has a description of two to four sentences', () => {
  const sentences = IDS.map((id) => {
    const text: string = OPERATIONS[id].description;
    return [id, text.split(/[.!?](?:\s+|$)/).filter((part) => part.trim() !== '').length] as const;
  });
  expect(sentences.filter(([, count]) => count < 2 || count > 4)).toEqual([]);
});

test('every operation of the document has its samples', () => {
  const { paths } = openApi('1.2.3', documents) as {
    paths: Record<string, Record<string, { 'x-codeSamples': unknown[] }>>;
  };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  expect(operations.map((operation) => operation['x-codeSamples'].length)).toEqual(operations.map(() => 3));
});

test('the document says an instant by its format alone, and no decision by its number', () => {
  const text = JSON.stringify(openApi('1.2.3', documents));
  expect(text.match(/"pattern":"[^"]{100,}"|\([A-Z]\d{1,2}\)/g)).toBeNull();
});

test('the samples of curl are what a shell can read', () => {
  const { files } = written('Shell', 'sh');
  expect(run('sh', ['-c', 'for file; do sh -n "$file" || exit; done', 'sh', ...files])).toEqual(FINE);
});

test('the samples of Python compile', () => {
  const { files } = written('Python', 'py');
  expect(run('python3', ['-m', 'py_compile', ...files])).toEqual(FINE);
});

test('the samples of TypeScript compile against the typed client', () => {
  const { folder, files } = written('TypeScript', 'mts');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(REPOSITORY, 'tsconfig.json'),
      compilerOptions: {
        paths: { 'postern/client': [join(REPOSITORY, 'src/client/postern-client.ts')] },
        typeRoots: [join(REPOSITORY, 'node_modules/@types')],
      },
      include: [],
      files,
    }),
  );
  expect(run(process.execPath, [join(REPOSITORY, 'node_modules/.bin/tsc'), '-p', folder])).toEqual(FINE);
});

test('the OpenAPI document is for its readers: no numbers of decisions, no pattern that fills a page', () => {
  const text = JSON.stringify(openApi('1.2.3', documents));
  expect(text).not.toMatch(/\b[Dd]ecisions? [A-Z]\d|\([A-Z]\d{1,2}\)/);
  expect([...text.matchAll(/"pattern":"[^"]{100,}"/g)]).toEqual([]);
});
