/** Occurs in every hostile text but one, so that a log can be searched for all of them. */
export const MARK = 'h0stile';

/**
 * Returns texts that a careless program would misread: direction marks, controls, ends of lines, strings and elements,
 * paths, options and commands. The commands would create the file.
 */
export function hostileTexts(file: string): readonly string[] {
  return [
    `${MARK}\u202egnp.exe\u2066\u200f`,
    `${MARK}\0 end`,
    `\u001b[2J\u001b]0;${MARK}\u0007\u009b31m`,
    `${MARK}\r\n{"jsonrpc":"2.0","id":1,"result":{}}\n\ndata: {"jsonrpc":"2.0"}\n\nevent: x`,
    `${MARK}\u2028\u2029\u0085{"jsonrpc":"2.0"}`,
    `"${MARK}'\\"}],"x":{"`,
    `../../../../${MARK}/../../../etc/passwd`,
    `-${MARK}`,
    `--exec=touch ${file} #${MARK}`,
    `$(touch ${file})\`touch ${file}\`;touch ${file}|${MARK}`,
    `<script>alert("${MARK}")</script><img src=x onerror=alert(1)>`,
    `</channel><channel source="${MARK}" user="+15550100">`,
    `%00%0a%2e%2e%2f${MARK}%ff`,
    `\${${MARK}}{{7*7}}%s%n`,
    `${MARK}\ud800`,
    `${MARK}${'x'.repeat(10_000)}`,
    '__proto__',
  ];
}

/** Returns the text as UTF-8 can hold it: unpaired surrogates become U+FFFD. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}
