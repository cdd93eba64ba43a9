import { pathOf, ROUTES, type Route, type RouteId } from '../../schema/routes.ts';
import { CODE_CALLS, type CodeCall } from './code-calls.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/** An entry of `x-codeSamples`, which reference pages show. */
export interface CodeSample {
  readonly lang: 'Shell' | 'Python' | 'TypeScript';
  readonly label: string;
  readonly source: string;
}

const ENV = "import { env } from 'node:process';";
const SERVICE = 'http://127.0.0.1:3001';
/** The host name used for requests over the Unix socket. */
const LOCAL = 'http://localhost';
/**
 * Precedes the samples in curl and Python for an operation with `overHttp`. Some builds of curl lack WebSockets, and
 * Python's standard library has none.
 */
const OVER_HTTP = '# The same events over plain HTTP, without a WebSocket client:';

interface Request {
  readonly method: Route['method'];
  readonly url: string;
  readonly hasKey: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly call: CodeCall;
}

/** An operation to be called. `call` says how, for an operation of a feature. */
interface Called {
  readonly route: Route;
  readonly operation: Operation;
  readonly call?: CodeCall | undefined;
}

/** Returns samples that call an operation with curl, with Python's standard library and with the typed client. */
export function codeSamples(id: string, { route, operation, call: own }: Called): readonly CodeSample[] {
  const call: CodeCall = own ?? CODE_CALLS[id as RouteId];
  const { overHttp } = call;
  if (overHttp === undefined) return samplesOf(route, operation, call);
  const [shell, script] = samplesOf(ROUTES[overHttp], OPERATIONS[overHttp], CODE_CALLS[overHttp]);
  const [, , typed] = samplesOf(route, operation, call);
  const noted = [shell, script].map((sample) => ({ ...sample, source: `${OVER_HTTP}\n${sample.source}` }));
  return [...noted, typed];
}

function samplesOf(route: Route, { body }: Operation, call: CodeCall): readonly [CodeSample, CodeSample, CodeSample] {
  const path = pathOf(route).replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(call.path?.[name] ?? ''));
  const query = new URLSearchParams(call.query).toString();
  const request = {
    method: route.method,
    url: `${call.isOverSocket === true ? LOCAL : SERVICE}${path}${query === '' ? '' : `?${query}`}`,
    hasKey: route.key === 'header' || route.key === 'query',
    headers: call.headers ?? {},
    body: body?.example,
    call,
  };
  return [
    { lang: 'Shell', label: 'curl', source: curl(request) },
    { lang: 'Python', label: 'Python', source: call.python ?? python(request) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScript(request) },
  ];
}

function curl({
  method,
  url,
  hasKey,
  headers,
  body,
  call: { file, isStream, download, isOverSocket },
}: Request): string {
  const hasBody = body !== undefined || file !== undefined;
  const parts = [
    ...(method === (hasBody ? 'POST' : 'GET') ? [] : [`-X ${method}`]),
    ...(isStream === true ? ['-N'] : []),
    ...(isOverSocket === true ? ['--unix-socket "$SOCKET"'] : []),
    ...(download === undefined ? [] : [`-o ${download}`]),
    ...(hasKey ? ['-H "X-API-Key: $KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(file === undefined ? [] : [`-F file=@${file}`]),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
    quoted(url),
  ];
  return `curl ${parts.join(' \\\n  ')}`;
}

/** Quotes a text as one shell word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function python({ method, url, hasKey, headers, body, call: { file, isStream, download, reads } }: Request): string {
  const all = [
    ...(hasKey ? ['"X-API-Key": os.environ["KEY"]'] : []),
    ...Object.entries({
      ...headers,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(file !== undefined && {
        'Content-Disposition': `attachment; filename="${file}"`,
        'Content-Type': 'image/jpeg',
      }),
    }).map(([name, value]) => `${JSON.stringify(name)}: ${pythonValue(value)}`),
  ];
  const isJson = download === undefined && reads === undefined && isStream !== true;
  return [
    ...(isJson || body !== undefined ? ['import json'] : []),
    ...(hasKey ? ['import os'] : []),
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(all.length === 0 ? [] : [`    headers={${all.join(', ')}},`]),
    ...(body === undefined ? [] : [`    data=json.dumps(${pythonValue(body)}).encode(),`]),
    ...(file === undefined ? [] : [`    data=open("${file}", "rb").read(),`]),
    ')',
    'with urllib.request.urlopen(request) as answer:',
    ...pythonResult(isStream === true, download, reads ?? 'json'),
  ].join('\n');
}

function pythonResult(isStream: boolean, download: string | undefined, reads: 'json' | 'text' | 'nothing'): string[] {
  if (isStream) return ['    for line in answer:', '        print(line.decode(), end="")'];
  if (download !== undefined) return [`    open("${download}", "wb").write(answer.read())`];
  if (reads === 'nothing') return ['    print(answer.status)'];
  return [reads === 'text' ? '    print(answer.read().decode())' : '    print(json.load(answer))'];
}

/** Writes a JSON value in Python, where only `True`, `False` and `None` are spelled differently. */
function pythonValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member)}`);
    return `{${members.join(', ')}}`;
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}

function typeScript({ url, body, call }: Request): string {
  const source = call.typeScript
    .replace('$body', () => scriptValue(body))
    .replaceAll('$id', () => scriptValue(call.path?.id));
  if (call.isPlainFetch === true) return `${ENV}\n\n${source.replace('$url', () => scriptValue(url))}`;
  return [
    ENV,
    ...(call.imports ?? []),
    "import { PosternClient } from 'postern/client';",
    '',
    `const postern = new PosternClient({ ${call.isOverSocket === true ? "socketPath: env.SOCKET ?? '', " : ''}key: env.KEY ?? '' });`,
    source,
  ].join('\n');
}

function scriptValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(scriptValue).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([name, member]) => `${name}: ${scriptValue(member)}`)
      .join(', ')} }`;
  }
  return typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value);
}
