import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import { pathOf, type Route } from '../../src/core/http/route.ts';
import { ALL_DOCUMENTS, ALL_OPERATIONS, ALL_ROUTES } from '../support/all-operations.ts';
import { isLong, testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

const PACKAGES = fileURLToPath(new URL('../support/programs/node_modules', import.meta.url));
const IDS = Object.keys(ALL_OPERATIONS);
const isRun = isLong && existsSync(PACKAGES);
// Folders of a file whose tests are all skipped are not removed.
const root = isRun ? temporaryFolder() : '';
const source = join(root, 'openapi.json');

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly type?: string; readonly const?: string; readonly enum?: readonly string[] };
}
const { paths } = openApi('1.2.3', ALL_DOCUMENTS) as {
  paths: Record<string, Record<string, { readonly parameters?: Parameter[] }>>;
};

function run(program: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(PACKAGES, program), ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
}

/** Returns a value of the parameter's type. Every type but `integer` is a string. */
function exampleOf({ schema }: Parameter): string | number {
  return schema.type === 'integer' ? 20 : (schema.const ?? schema.enum?.[0] ?? 'text');
}

function placeOf(id: string): { readonly method: string; readonly path: string } {
  const route = ALL_ROUTES[id] as Route;
  return { method: route.method, path: pathOf(route) };
}

/** Returns the arguments of a call of the operation with every parameter, as TypeScript. */
function argumentsOf(id: string): { readonly path?: object; readonly query?: object; readonly body?: unknown } {
  const place = placeOf(id);
  const body = ALL_OPERATIONS[id]?.body;
  const { parameters = [] } = paths[place.path]?.[place.method.toLowerCase()] ?? {};
  const given = (part: 'path' | 'query'): object | undefined => {
    const entries = parameters.filter((one) => one.in === part).map((one) => [one.name, exampleOf(one)] as const);
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  };
  const [path, query] = [given('path'), given('query')];
  return {
    ...(path !== undefined && { path }),
    ...(query !== undefined && { query }),
    ...(body !== undefined && { body: body.example }),
  };
}

function prepare(name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  writeFileSync(source, JSON.stringify(openApi('1.2.3', ALL_DOCUMENTS)));
  if (!existsSync(join(root, 'node_modules'))) symlinkSync(PACKAGES, join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{"type": "module"}\n');
  return folder;
}

function compile(folder: string): void {
  const options = { strict: true, noEmit: true, skipLibCheck: false, target: 'es2022', module: 'esnext' };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...options, moduleResolution: 'bundler', lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
      include: ['**/*.ts'],
    }),
  );
  run('typescript/bin/tsc', ['-p', folder]);
}

const inLongForm = testIf(isRun, 'long form only');

inLongForm(`openapi-typescript: one call of each operation compiles`, () => {
  const folder = prepare('openapi-typescript');
  run('openapi-typescript/bin/cli.js', [source, '-o', join(folder, 'schema.ts')]);
  const calls = IDS.map((id) => {
    const { body, ...params } = argumentsOf(id);
    // A file is not JSON: this generator types it as a string.
    const sent = id === 'uploadAttachment' ? 'bytes' : body;
    const options = JSON.stringify({ params, body: sent });
    const { method, path } = placeOf(id);
    const call = `await client.${method}(${JSON.stringify(path)}, ${options});`;
    // For a body that may also be a form, the call alone does not prove that it is valid JSON.
    const json = `operations['${id}']['requestBody']['content']['application/json']`;
    return body === undefined ? call : `${call}\nexport const ${id}: ${json} = ${JSON.stringify(body)};`;
  });
  const head = ["import createClient from 'openapi-fetch';", "import type { operations, paths } from './schema';"];
  writeFileSync(join(folder, 'calls.ts'), [...head, 'const client = createClient<paths>();', ...calls].join('\n'));
  compile(folder);
});

inLongForm(`@hey-api/openapi-ts: one call of each operation compiles`, () => {
  const folder = prepare('hey-api');
  run('@hey-api/openapi-ts/bin/run.js', ['-i', source, '-o', join(folder, 'client'), '-s', '--no-log-file']);
  const calls = IDS.map((id) => {
    const { body, ...rest } = argumentsOf(id);
    if (id === 'uploadAttachment') return `await ${id}({ body: new Blob(['bytes']) });`;
    return `await ${id}(${JSON.stringify({ ...rest, body })});`;
  });
  const head = `import { ${IDS.join(', ')} } from './client';`;
  writeFileSync(join(folder, 'calls.ts'), [head, ...calls].join('\n'));
  compile(folder);
});
