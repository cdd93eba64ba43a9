// Programs that make the request of an operation, in a few languages.

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: string | number | boolean;
}

/** The part of an operation in the OpenAPI document that a sample needs. */
export interface DescribedOperation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  /** Empty if the operation needs no key. */
  readonly security?: readonly unknown[];
}

interface Sample {
  readonly method: string;
  readonly url: string;
  readonly hasKey: boolean;
  /** The JSON of the body; undefined if there is none. */
  readonly body: unknown;
  /** True if the body is a file. */
  readonly isFile: boolean;
}

const JSON_TYPE = 'application/json';

/** Describes a request that has only what the operation needs. `base` is the address of the service. */
function sampleOf(base: string, path: string, method: string, operation: DescribedOperation): Sample {
  const { parameters = [], requestBody, security } = operation;
  const needed = parameters.filter(({ in: place, required }) => place === 'query' && required === true);
  const query = needed.map(
    ({ name, example }) => `${name}=${encodeURIComponent(String(example ?? name.toUpperCase()))}`,
  );
  const content = requestBody?.content ?? {};
  return {
    method: method.toUpperCase(),
    url: `${base}${path.slice(1).replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    hasKey: security?.length !== 0,
    body: content[JSON_TYPE]?.example,
    isFile: requestBody !== undefined && content[JSON_TYPE] === undefined,
  };
}

function curl({ method, url, hasKey, body, isFile }: Sample): string {
  const text = JSON.stringify(body);
  return [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "${url}"`,
    hasKey && '-H "X-API-Key: $KEY"',
    body !== undefined && `-H 'Content-Type: ${JSON_TYPE}'`,
    body !== undefined && `-d '${text.replaceAll("'", "'\\''")}'`,
    isFile && '--data-binary @FILE',
  ]
    .filter(Boolean)
    .join(' \\\n  ');
}

function javaScript({ method, url, hasKey, body, isFile }: Sample): string {
  const headers = [hasKey && "'X-API-Key': KEY", body !== undefined && `'Content-Type': '${JSON_TYPE}'`].filter(
    Boolean,
  );
  const options = [
    method !== 'GET' && `method: '${method}'`,
    headers.length > 0 && `headers: { ${headers.join(', ')} }`,
    body !== undefined && `body: JSON.stringify(${indented(JSON.stringify(body, null, 2))})`,
    isFile && 'body: file',
  ].filter(Boolean);
  const given = options.length === 0 ? '' : `, {\n  ${options.join(',\n  ')},\n}`;
  return `const answer = await fetch('${url}'${given});\nconsole.log(answer.status, await answer.text());`;
}

const indented = (text: string): string => text.replaceAll('\n', '\n  ');

function python({ method, url, hasKey, body, isFile }: Sample): string {
  const given = [
    `"${url}"`,
    hasKey && 'headers={"X-API-Key": KEY}',
    body !== undefined && `json=${indented(pythonOf(body, ''))}`,
    isFile && 'data=open("FILE", "rb")',
  ].filter(Boolean);
  return `import requests\n\nanswer = requests.${method.toLowerCase()}(\n  ${given.join(',\n  ')},\n)\nprint(answer.status_code, answer.text)`;
}

/** Returns a value as Python writes it. */
function pythonOf(value: unknown, indent: string): string {
  const inner = `${indent}  `;
  const lines = (items: readonly string[], [open, close]: readonly [string, string]): string =>
    items.length === 0 ? open + close : `${open}\n${items.map((item) => inner + item).join(',\n')},\n${indent}${close}`;
  if (Array.isArray(value)) {
    return lines(
      value.map((one) => pythonOf(one, inner)),
      ['[', ']'],
    );
  }
  if (typeof value === 'object' && value !== null) {
    return lines(
      Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one, inner)}`),
      ['{', '}'],
    );
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}

const LANGUAGES: readonly (readonly [name: string, write: (sample: Sample) => string])[] = [
  ['curl', curl],
  ['JavaScript', javaScript],
  ['Python', python],
];

/** Returns the sample of each language. */
export function samplesOf(
  ...request: Parameters<typeof sampleOf>
): readonly (readonly [language: string, text: string])[] {
  const sample = sampleOf(...request);
  return LANGUAGES.map(([name, write]) => [name, write(sample)]);
}
