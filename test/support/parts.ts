import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as TypeScript from 'typescript';
import { root, sources } from './imports.ts';

const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
const { ES2022 } = ts.ScriptTarget;

type Declaration = TypeScript.InterfaceDeclaration | TypeScript.TypeAliasDeclaration;

const texts = sources('src')
  // The console is of components, and what a client of the API passes is its own affair.
  .filter((file) => !/^src\/(?:features\/console|client)\//.test(file))
  .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);

/** Key: the name of a type. Value: the files that declare it. */
const declaring = new Map<string, string[]>();
for (const [file, text] of texts) {
  for (const [, name = ''] of text.matchAll(/^(?:export )?(?:interface|type) (\w+)/gm)) {
    declaring.set(name, [...(declaring.get(name) ?? []), file]);
  }
}

const parsed = new Map<string, TypeScript.SourceFile>();

function sourceOf(file: string): TypeScript.SourceFile {
  const source = parsed.get(file) ?? ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ES2022, true);
  parsed.set(file, source);
  return source;
}

/** Returns the declaration of a type, in this file or else in another; undefined if src/ declares none. */
function declarationOf(name: string, from = ''): Declaration | undefined {
  const files = declaring.get(name) ?? [];
  const file = files.includes(from) ? from : files[0];
  if (file === undefined) return undefined;
  return sourceOf(file).statements.find(
    (one): one is Declaration =>
      (ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one)) && one.name.text === name,
  );
}

function isWordOfList(type: TypeScript.TypeNode): boolean {
  return ts.isParenthesizedTypeNode(type) ? isWordOfList(type.type) : ts.isTypeQueryNode(type);
}

/**
 * Reports whether a member is a plain value: a text, a number, one of a few words, or an object of such values alone.
 */
function isValue(type: TypeScript.TypeNode | undefined): boolean {
  if (type === undefined || ts.isLiteralTypeNode(type)) return true;
  // One of the words of a list, as in `(typeof WORDS)[number]`.
  if (ts.isIndexedAccessTypeNode(type)) return isWordOfList(type.objectType);
  if (ts.isUnionTypeNode(type) || ts.isIntersectionTypeNode(type)) return type.types.every(isValue);
  if (ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName)) {
    const found = declarationOf(type.typeName.text, type.getSourceFile().fileName);
    if (found === undefined) return false;
    return ts.isTypeAliasDeclaration(found) ? isValue(found.type) : partsIn(found).length === 0;
  }
  const { StringKeyword, NumberKeyword, BooleanKeyword, UndefinedKeyword } = ts.SyntaxKind;
  return [StringKeyword, NumberKeyword, BooleanKeyword, UndefinedKeyword].some((kind) => kind === type.kind);
}

function wordsIn(type: TypeScript.TypeNode | undefined): readonly string[] {
  if (type === undefined) return [];
  if (ts.isUnionTypeNode(type)) return type.types.flatMap(wordsIn);
  if (ts.isTypeOperatorNode(type)) return partsIn(type.type);
  return ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? [type.literal.text] : [];
}

function named(name: TypeScript.Identifier, [of, words]: readonly TypeScript.TypeNode[] = []): readonly string[] {
  if (name.text === 'Pick') return wordsIn(words);
  if (name.text === 'Omit') return partsIn(of).filter((one) => !wordsIn(words).includes(one));
  return partsIn(declarationOf(name.text, name.getSourceFile().fileName));
}

/** Returns the names of the members that are no plain values, with those that are inherited. */
function partsIn(type: TypeScript.Node | undefined): readonly string[] {
  if (type === undefined) return [];
  if (ts.isTypeAliasDeclaration(type)) return partsIn(type.type);
  if (ts.isIntersectionTypeNode(type)) return [...new Set(type.types.flatMap(partsIn))];
  if (ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName)) return named(type.typeName, type.typeArguments);
  if (!ts.isInterfaceDeclaration(type) && !ts.isTypeLiteralNode(type)) return [];
  const own = type.members.flatMap((one) =>
    one.name !== undefined && ts.isIdentifier(one.name) && !(ts.isPropertySignature(one) && isValue(one.type))
      ? [one.name.text]
      : [],
  );
  const above = ts.isInterfaceDeclaration(type) ? (type.heritageClauses ?? []).flatMap(({ types }) => types) : [];
  const inherited = above.flatMap(({ expression, typeArguments }) =>
    ts.isIdentifier(expression) ? named(expression, typeArguments) : [],
  );
  return [...new Set([...inherited, ...own])];
}

/** Returns the types whose name matches, each with the names of its members that are no plain values. */
export function partsOf(name: RegExp): ReadonlyMap<string, readonly string[]> {
  const names = [...declaring.keys()].filter((one) => name.test(one));
  return new Map(names.map((one) => [one, partsIn(declarationOf(one))]));
}
