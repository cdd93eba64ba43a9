import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp';
import ts from 'typescript';

/** A regular expression in a source file. */
export interface Expression {
  /** `src/features/search/index/tokens.ts:21`. */
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** More repetitions than this count as unbounded. */
const MANY = 64;

/** Returns every regular expression in these folders: literals, and calls of `RegExp` with constants of their file. */
export function expressionsIn(root: string, folders: readonly string[]): readonly Expression[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.[cm]?[jt]s$/.test(name) && !name.includes('node_modules') && !name.endsWith('.d.ts'))
      .toSorted()
      .flatMap((name) => expressionsOf(join(folder, name), readFileSync(join(root, folder, name), 'utf8'))),
  );
}

export function expressionsOf(file: string, text: string): readonly Expression[] {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: Expression[] = [];
  const constants = constantsOf(tree);
  const placeOf = (node: ts.Node): string =>
    `${file}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`;
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      found.push({ place: placeOf(node), source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    } else if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText(tree) === 'RegExp' &&
      node.arguments?.[0] !== undefined
    ) {
      const [pattern, flags] = node.arguments;
      const given = flags === undefined || !ts.isStringLiteralLike(flags) ? '' : flags.text;
      for (const source of valuesOf(pattern, constants)) found.push({ place: placeOf(node), source, flags: given });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

type Constants = ReadonlyMap<string, ts.Expression>;

function constantsOf(tree: ts.SourceFile): Constants {
  const constants = new Map<string, ts.Expression>();
  for (const statement of tree.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (ts.isIdentifier(name) && initializer !== undefined) constants.set(name.text, initializer);
    }
  }
  return constants;
}

/** Returns the possible texts of an expression of constants. What is known only at run time counts as a word. */
function valuesOf(node: ts.Expression, constants: Constants): readonly string[] {
  if (ts.isTemplateExpression(node)) {
    return node.templateSpans.reduce(
      (heads: readonly string[], { expression, literal }) =>
        heads.flatMap((head) => valuesOf(expression, constants).map((value) => head + value + literal.text)),
      [node.head.text],
    );
  }
  if (ts.isConditionalExpression(node)) {
    return [...valuesOf(node.whenTrue, constants), ...valuesOf(node.whenFalse, constants)];
  }
  return [textOf(node, constants)];
}

function textOf(node: ts.Expression, constants: Constants): string {
  if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node)) return valuesOf(node, constants)[0] ?? '';
  if (ts.isIdentifier(node)) {
    const known = constants.get(node.text);
    return known === undefined ? 'word' : textOf(known, constants);
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { expression: list, name } = node.expression;
    if (name.text === 'join' && ts.isArrayLiteralExpression(list)) {
      const [separator] = node.arguments;
      const joint = separator === undefined ? ',' : textOf(separator, constants);
      return list.elements.map((element) => textOf(element, constants)).join(joint);
    }
  }
  return 'word';
}

function parsed({ source, flags }: Expression): AST.Pattern {
  return new RegExpParser().parsePattern(source, undefined, undefined, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  });
}

/** Returns the unbounded quantifiers, as written, that are inside another one or in a look-behind. */
export function forbiddenIn(expression: Expression): readonly string[] {
  const found: string[] = [];
  visitRegExpAST(parsed(expression), {
    onQuantifierEnter: (node) => {
      if (node.max <= MANY) return;
      for (const outer of around(node)) {
        const isNested = outer.type === 'Quantifier' && outer.max > MANY;
        if (isNested || (outer.type === 'Assertion' && outer.kind === 'lookbehind')) found.push(outer.raw);
      }
    },
  });
  return found;
}

function* around(node: AST.Node): Generator<AST.Node> {
  for (let { parent } = node; parent !== null; { parent } = parent) yield parent;
}

/** One of each kind of character that expressions distinguish. */
const KINDS = [
  ...'aZé0 .-_,:;/\\"\'()[]{}<>=+@!?*&%#|~\n\r\t\0',
  '\u0301',
  '\u0627',
  '\u6F22',
  '\uFFFC',
  '\u{1F600}',
  '\u200D',
  '\uFE0F',
];

/**
 * Returns texts made to be expensive: `units` long, of parts that the expression almost matches. Empty if any text
 * costs the same.
 */
export function attacksOn(expression: Expression): readonly ((units: number) => string)[] {
  const flags = expression.flags.replace(/[gy]/g, '');
  const attacks: ((units: number) => string)[] = [];
  visitRegExpAST(parsed(expression), {
    onQuantifierEnter: (node) => {
      if (node.max <= MANY) return;
      const prefix = before(node, flags);
      for (const pump of pumpsOf(node.element, flags)) {
        for (const begin of [prefix, `${prefix}a`]) {
          for (const end of ['', '\0', 'a', '\n!']) {
            attacks.push((units) => begin + pump.repeat(Math.ceil(units / pump.length)) + end);
          }
        }
        const again = prefix + pump;
        if (prefix !== '') attacks.push((units) => again.repeat(Math.ceil(units / again.length)));
      }
    },
  });
  return attacks;
}

/** Returns what the repeated part matches at once: each kind of character, or an example of each alternative. */
function pumpsOf(element: AST.Element, flags: string): readonly string[] {
  if (element.type === 'Group' || element.type === 'CapturingGroup') {
    return element.alternatives.map((one) => exampleOf(one, flags)).filter((text) => text !== '');
  }
  return charactersOf(element, flags);
}

function charactersOf(element: AST.Element, flags: string): readonly string[] {
  const one = new RegExp(`^(?:${element.raw})$`, flags);
  const found = KINDS.filter((kind) => one.test(kind));
  return found.length > 0 ? found : [exampleOf(element, flags)].filter((text) => text !== '');
}

/** Returns a text that reaches this quantifier. */
function before(node: AST.Node, flags: string): string {
  const { parent } = node;
  if (parent === null) return '';
  if (parent.type !== 'Alternative') return before(parent, flags);
  const earlier = parent.elements.slice(0, parent.elements.indexOf(node as AST.Element));
  return before(parent, flags) + earlier.map((element) => exampleOf(element, flags)).join('');
}

function exampleOf(node: AST.Alternative | AST.Element, flags: string): string {
  switch (node.type) {
    case 'Alternative':
      return node.elements.map((element) => exampleOf(element, flags)).join('');
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives[0] === undefined ? '' : exampleOf(node.alternatives[0], flags);
    case 'Quantifier':
      return exampleOf(node.element, flags).repeat(Math.max(node.min, node.max > 0 && node.min === 0 ? 0 : 1));
    case 'Character':
      return String.fromCodePoint(node.value);
    case 'CharacterClass': {
      const one = new RegExp(`^(?:${node.raw})$`, flags);
      const known = KINDS.find((kind) => one.test(kind));
      if (known !== undefined) return known;
      for (let code = 0; code < 0x1_0000; code += 1) {
        if (one.test(String.fromCharCode(code))) return String.fromCharCode(code);
      }
      return '';
    }
    case 'CharacterSet':
      return KINDS.find((kind) => new RegExp(`^(?:${node.raw})$`, flags).test(kind)) ?? '';
    default:
      return '';
  }
}
