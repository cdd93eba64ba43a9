import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type * as TypeScript from 'typescript';
import { root, sources } from './support/imports.ts';

const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
const MOST_PARTS = 8;

/** What has more parts. The list only shrinks. */
const LARGE: readonly string[] = [
  // They join rooms: each part is used in one line, to make something smaller.
  ...['AccessCore', 'HttpServerParts', 'MacServerParts', 'ResourceParts', 'ServerParts'],
  // They are split when they are next changed.
  ...['ClientParts', 'DeliveryWorkerParts', 'DispatcherParts', 'SinglePostsParts', 'DetectionParts'],
  ...['SearchParts', 'UpdatesParts'],
  ...['EventPublisherParts', 'HubRouteParts', 'HubStatusParts', 'HubWebhooksParts', 'WebhookWorkerParts'],
];

type Declaration = TypeScript.InterfaceDeclaration | TypeScript.TypeAliasDeclaration;

const texts = sources('src')
  // The console is of components, and what a client of the API passes is its own affair.
  .filter((file) => !/^src\/(?:features\/console|client)\//.test(file))
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
const declarations = new Map<string, Declaration | undefined>();

/** Returns the declaration of a type; undefined if src/ declares none. */
function declarationOf(name: string): Declaration | undefined {
  if (declarations.has(name)) return declarations.get(name);
  const pattern = new RegExp(`^(?:export )?(?:interface|type) ${name}\\b`, 'm');
  const [file, text = ''] = texts.find(([, content]) => pattern.test(content)) ?? [];
  const source = file === undefined ? undefined : ts.createSourceFile(file, text, ts.ScriptTarget.ES2022);
  const found = source?.statements.find(
    (one): one is Declaration =>
      (ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one)) && one.name.text === name,
  );
  declarations.set(name, found);
  return found;
}

/** Reports whether a member is a plain value: a text, a number, or one of a few words. */
function isValue(type: TypeScript.TypeNode | undefined): boolean {
  if (type === undefined || ts.isLiteralTypeNode(type)) return true;
  if (ts.isUnionTypeNode(type)) return type.types.every(isValue);
  return (
    [ts.SyntaxKind.StringKeyword, ts.SyntaxKind.NumberKeyword, ts.SyntaxKind.BooleanKeyword].includes(type.kind) ||
    type.kind === ts.SyntaxKind.UndefinedKeyword
  );
}

function wordsIn(type: TypeScript.TypeNode | undefined): readonly string[] {
  if (type === undefined) return [];
  if (ts.isUnionTypeNode(type)) return type.types.flatMap(wordsIn);
  if (ts.isTypeOperatorNode(type)) return partsIn(type.type);
  return ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? [type.literal.text] : [];
}

function named(name: string, [of, words]: readonly TypeScript.TypeNode[] = []): readonly string[] {
  if (name === 'Pick') return wordsIn(words);
  if (name === 'Omit') return partsIn(of).filter((one) => !wordsIn(words).includes(one));
  return partsIn(declarationOf(name));
}

/** Returns the names of the members that are no plain values, with those that are inherited. */
function partsIn(type: TypeScript.Node | undefined): readonly string[] {
  if (type === undefined) return [];
  if (ts.isTypeAliasDeclaration(type)) return partsIn(type.type);
  if (ts.isIntersectionTypeNode(type)) return [...new Set(type.types.flatMap(partsIn))];
  if (ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName))
    return named(type.typeName.text, type.typeArguments);
  if (!ts.isInterfaceDeclaration(type) && !ts.isTypeLiteralNode(type)) return [];
  const own = type.members.flatMap((one) =>
    one.name !== undefined && ts.isIdentifier(one.name) && !(ts.isPropertySignature(one) && isValue(one.type))
      ? [one.name.text]
      : [],
  );
  const above = ts.isInterfaceDeclaration(type) ? (type.heritageClauses ?? []).flatMap(({ types }) => types) : [];
  const inherited = above.flatMap(({ expression, typeArguments }) =>
    ts.isIdentifier(expression) ? named(expression.text, typeArguments) : [],
  );
  return [...new Set([...inherited, ...own])];
}

function namesLike(ending: string): readonly string[] {
  const pattern = new RegExp(`^(?:export )?(?:interface|type) (\\w+${ending})\\b`, 'gm');
  return [...new Set(texts.flatMap(([, text]) => [...text.matchAll(pattern)].map(([, name = '']) => name)))];
}

test('nothing is made of more than eight parts, but for what is listed', () => {
  const large = [...namesLike('Parts'), ...namesLike('Core')].filter(
    (name) => partsIn(declarationOf(name)).length > MOST_PARTS,
  );
  expect(large.sort()).toEqual([...LARGE].sort());
});

test('options are values that a caller chooses, not what something is made of', () => {
  const collaborators = ['clock', 'log', 'store', 'connection', 'feed'];
  const mixed = namesLike('Options').filter((name) =>
    partsIn(declarationOf(name)).some((one) => collaborators.includes(one)),
  );
  expect(mixed).toEqual([]);
});
