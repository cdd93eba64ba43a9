/** Matches comments on lines of their own, and types beside code. */
const COMMENTS = /^[ \t]*(?:\/\/.*|\/\*(?:[^*]|\*(?!\/))*\*\/[ \t]*)\n|\/\*\* @type \{.{1,300}?\} \*\/ ?/gm;
const INDENTATION = /^[ \t]+|^\n/gm;

const STRING = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/.source;
const REGULAR_EXPRESSION = /(?<=[(,=>:[!&|?{};\n] ?)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/.source;
const FLAT_TEMPLATE = /`(?:[^`\\]|\\.)*`/.source;
/** Matches a template whose expressions contain templates. */
const TEMPLATE = `\`(?:[^\`\\\\$]|\\\\.|\\$(?!\\{)|\\$\\{(?:[^\`{}]|\\{[^{}]*\\}|${FLAT_TEMPLATE})*\\})*\``;
/** Matches text that must stay unchanged, or a sign with the spaces around it. */
const SIGNS = new RegExp(`(${STRING}|${TEMPLATE}|${REGULAR_EXPRESSION})| ?([=(){}[\\],;:<>?&|!*]+) ?`, 'g');
/** Matches line feeds beside signs, and a comma or semicolon before a closing bracket. */
const BREAKS = /;?\n(?=\})|,?\n(?=[)\]}])|\n(?=[?:&|.=])|(?<=[([{,;=>?:&|])\n/g;

/** Returns a script without comments, and without spaces and line feeds that a browser does not need. */
export function scriptForBrowser(text: string): string {
  return text.replace(COMMENTS, '').replace(INDENTATION, '').replace(SIGNS, '$1$2').replace(BREAKS, '');
}

const SHEET_SIGNS = /("[^"\n]*")|;?\s*([{}])\s*|\s*([,;>])\s*|(:) /g;

/** Returns a style sheet without comments, and without spaces and line feeds that a browser does not need. */
export function sheetForBrowser(text: string): string {
  return text.replace(COMMENTS, '').replace(INDENTATION, '').replace(SHEET_SIGNS, '$1$2$3$4');
}
