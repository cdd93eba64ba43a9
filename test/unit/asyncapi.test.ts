import { createRequire } from 'node:module';
import { expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { asyncApi } from '../../src/api/openapi/asyncapi.ts';
import { openApi } from '../../src/api/openapi/openapi.ts';
import { documentsOf } from '../../src/core/feature.ts';
import { FEATURES } from '../../src/features/list.ts';

const documents = await documentsOf(FEATURES);

interface Message {
  readonly payload: object;
  readonly examples: readonly { readonly payload: unknown }[];
}

const document = JSON.parse(JSON.stringify(asyncApi('1.2.3'))) as {
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>;
    readonly schemas: Readonly<Record<string, object>>;
  };
};

test('the AsyncAPI document is one, by the schema of AsyncAPI 3', () => {
  // It contains the schema of schemas, so Ajv must not add its own.
  const official = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0.json') as object;
  const ajv = new Ajv({ strict: false, meta: false, validateSchema: false, logger: false });
  addFormats.default(ajv);
  const validate = ajv.compile(official);
  expect([validate(document), validate.errors]).toEqual([true, null]);
});

test('every reference in it leads somewhere', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path);
  const lost = references.filter(
    (path) =>
      path.split('/').reduce<unknown>((value, name) => (value as Record<string, unknown>)?.[name], document) ===
      undefined,
  );
  expect([references.length > 20, lost]).toEqual([true, []]);
});

test('its examples are as it says, and its schemas those of the OpenAPI document', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'doc', ...document });
  for (const [name, { payload, examples }] of Object.entries(document.components.messages)) {
    const text = JSON.stringify(payload).replaceAll('"#/components/', '"doc#/components/');
    const validate = ajv.compile(JSON.parse(text) as object);
    for (const example of examples) {
      expect([name, validate(example.payload), validate.errors]).toEqual([name, true, null]);
    }
  }
  const { components } = JSON.parse(JSON.stringify(openApi('1.2.3', documents))) as typeof document;
  expect(components.schemas).toMatchObject(document.components.schemas);
});
