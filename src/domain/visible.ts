/** Characters that cannot be seen, or that turn the direction of those that can; line feeds and tabs are left. */
const INVISIBLE =
  /(?![\n\t ])(?:[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]|[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufffc\ufffd])/gu;

/** The text with every character that nobody would see written out, such as ⟨U+202E⟩. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
