import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { allSettings } from '../../src/core/config/config.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { decodersOf } from '../../src/core/details-part.ts';
import { conversationSchema } from '../../src/core/http/conversations/answers.ts';
import { anyEventSchema } from '../../src/core/http/events/answers.ts';
import { openApi } from '../../src/core/http/openapi/openapi.ts';
import { webhookChangesBody } from '../../src/core/http/webhooks/schema.ts';
import { MESSAGE_KINDS, type MessageDetails } from '../../src/core/model/details.ts';
import { ROW_EVENT_TYPES } from '../../src/core/model/event.ts';
import { PROBLEMS, type ProblemText } from '../../src/core/model/problems.ts';
import { sentenceOf } from '../../src/core/model/sentence.ts';
import { mergedSchemas } from '../../src/core/schema/content-schema.ts';
import { messageDetailsWith } from '../../src/core/schema/details-schema.ts';
import { messageSchema } from '../../src/core/schema/message-schema.ts';
import { reactionSchema } from '../../src/core/schema/reaction-schema.ts';
import { FEATURES } from '../../src/features/list.ts';
import { ALL_DOCUMENTS } from '../support/all-operations.ts';
import { testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Returns the rows of every table on a page, cell by cell; an empty first cell repeats the one above it. */
function rows(page: string): string[][] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  let first = '';
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => {
      const cells = line.split('|').slice(1, -1);
      first = cells[0]?.trim() || first;
      return [first, ...cells.slice(1).map((cell) => cell.trim())];
    });
}

const quoted = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

test('docs/api.md has every code, beside its status, and no other', () => {
  const written = rows('api.md')
    .filter(([status]) => /^\d{3}$/.test(status ?? ''))
    .flatMap(([status, codes]) => quoted(codes).map((code) => `${status} ${code}`));
  const own = ALL_DOCUMENTS.flatMap(({ problems }) => Object.entries(problems));
  const entries: [string, ProblemText][] = [...Object.entries(PROBLEMS), ...own];
  const known = new Set(entries.map(([name, { status, code = name }]) => `${status} ${code}`));
  expect(written.sort()).toEqual([...known].sort());
});

test('every problem that the OpenAPI document shows is a whole sentence', () => {
  const { components } = openApi('1.2.3', ALL_DOCUMENTS) as {
    components: { examples: Record<string, { summary: string }> };
  };
  const sentences = Object.values(components.examples).map(({ summary }) => summary);
  expect(sentences.filter((text) => !/^(?:[A-Z]|backend\.)[^{}]+\.$/.test(text) || text.includes('undefined'))).toEqual(
    [],
  );
});

test('docs/api.md has every field of a message, a reaction and a conversation, and every status', () => {
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const [, fields = ''] = /\n## Fields\n([\s\S]*?)\n## /.exec(page) ?? [];
  const written = new Set(fields.split('\n').flatMap((line) => quoted(line.split('|')[1])));
  const added = ['details', 'details_left_out', 'names'];
  const names = [messageSchema, reactionSchema, conversationSchema].flatMap(({ shape }) => Object.keys(shape));
  const known = new Set([...names.filter((name) => !added.includes(name)), ...messageSchema.shape.status.options]);
  expect([...written].sort()).toEqual([...known].sort());
});

test('docs/content.md has an example of each kind, as the service would write it', async () => {
  const decoders = await decodersOf(FEATURES);
  const { row, file } = mergedSchemas(ALL_DOCUMENTS.flatMap(({ details = [] }) => details));
  const detailsSchema = messageDetailsWith(row, file);
  const page = readFileSync(new URL('../../docs/content.md', import.meta.url), 'utf8');
  const [, lines = ''] = /\n## Each kind\n[\s\S]*?```json\n([\s\S]*?)```/.exec(page) ?? [];
  const examples = lines
    .trim()
    .split('\n')
    .map((line) => detailsSchema.partial().strict().parse(JSON.parse(line)) as Partial<MessageDetails>);
  expect(examples.map(({ kind }) => kind)).toEqual([...MESSAGE_KINDS]);
  const plain = { kind: 'message', retracted_at: null, edited_at: null, attachments: [] } as const;
  const said = { body: '', sender: '+15550100', is_from_me: false };
  // Only the reader of chat.db knows the number of an unknown type.
  expect(examples.map(({ sentence }) => sentence?.replace(' (item type 12)', ''))).toEqual(
    examples.map((example) => sentenceOf(said, { ...plain, ...example }, {}, decoders)),
  );
});

test('docs/configuration.md has every key with its default, and no other', () => {
  const environment = processEnvironment({}, 'darwin', FEATURES);
  const written = rows('configuration.md')
    .filter(({ length }) => length === 5)
    .flatMap(([section = '', key, , usual = '']) =>
      quoted(section).map((name) => [`${name}.${quoted(key).join()}`, usual.replaceAll(/[`"]/g, '')].join(': ')),
    );
  const known = allSettings(environment).map(({ name, defaultValue }) => {
    const usual = defaultValue(environment);
    const text = typeof usual === 'bigint' ? usual : JSON.stringify(usual ?? 'random').replaceAll('"', '');
    return `${name}: ${text}`;
  });
  expect(written.sort()).toEqual(known.sort());
});

test('docs/api.md has every metric, and no other', () => {
  const folder = new URL('../../src/', import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((file) => String(file).endsWith('.ts'));
  const text = files.map((file) => readFileSync(new URL(String(file), folder), 'utf8')).join('\n');
  const named = [...text.matchAll(/(?:gauge|totals?|ofMac)\(\s*'(postern_\w+)'/g)].map(([, name = '']) => name);
  const written = rows('api.md').flatMap(([first]) => quoted(first).filter((word) => word.startsWith('postern_')));
  expect(written.map((word) => word.replace(/\{.*/, '')).sort()).toEqual([...new Set(named)].sort());
});

test('docs/webhooks.md shows every event of a row, as the service sends it', () => {
  const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => JSON.parse(text) as object);
  const events = blocks.filter((block): block is { readonly type: string } => 'type' in block);
  for (const event of events) expect(anyEventSchema.parse(event)).toEqual(event);
  expect([...new Set(events.map(({ type }) => type))].sort()).toEqual([...ROW_EVENT_TYPES].sort());
  const [registration, ...none] = blocks.filter((block) => 'filter' in block);
  expect([webhookChangesBody.parse(registration), none]).toEqual([registration, []]);
});

test('the guide has at most 24 pages and 40,000 words', () => {
  const docs = new URL('../../docs/', import.meta.url);
  const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  const words = pages.flatMap((page) => readFileSync(new URL(page, docs), 'utf8').split(/\s+/).filter(Boolean));
  expect(pages.length).toBeLessThanOrEqual(24);
  expect(words.length).toBeLessThanOrEqual(40_000);
});

test('ARCHITECTURE.md names only files and folders that exist', () => {
  const root = new URL('../../', import.meta.url);
  const page = readFileSync(new URL('ARCHITECTURE.md', root), 'utf8');
  const paths = page.match(/\b(?:[a-z-]+\/)+(?:[a-z-]+(?:\.\w+)*)?|\b[a-z-]+\.ts\b/g) ?? [];
  const all = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' }).map((path) => `/src/${path}`);
  const isThere = (path: string): boolean => {
    const ends = ['', '.ts'].map((ending) => `/${path.replace(/\/$/, '')}${ending}`);
    return existsSync(new URL(path, root)) || all.some((one) => ends.some((end) => one.endsWith(end)));
  };
  expect([...new Set(paths)].filter((path) => !path.startsWith('dist/') && !isThere(path))).toEqual([]);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).error === undefined;

testIf(hasSystemd, 'needs systemd-analyze')('systemd reads the unit of a hub without a complaint', () => {
  const unit = readFileSync(new URL('../../docs/postern-hub.service', import.meta.url), 'utf8');
  expect(unit).toContain('ExecStart=/usr/local/bin/postern hub ');
  const file = join(temporaryFolder(), 'postern-hub.service');
  // It also checks that the program is installed.
  writeFileSync(file, unit.replace('/usr/local/bin/postern', process.execPath));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  expect([status, stdout + stderr]).toEqual([0, '']);
});
