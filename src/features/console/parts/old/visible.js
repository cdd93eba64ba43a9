/**
 * Matches characters that are invisible or change the direction of the text around them, and more than 8 spaces or tabs
 * in a row.
 */
const INVISIBLE =
  /[ \t]{9,}|(?![\n\t ])(?:\p{C}|\p{Z}|\p{Default_Ignorable_Code_Point}|[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\ufffd\u{1d159}])/gu;

/**
 * Shows a text with every invisible character as a mark, such as ⟨U+202E⟩, and long gaps as ⟨40 blanks⟩. Returns the
 * number of marks.
 * @param {Element} element
 * @param {string} text
 */
export function showExactly(element, text) {
  /** @type {(string | Element)[]} */
  const parts = [];
  let end = 0;
  let count = 0;
  for (const { 0: found, index } of text.matchAll(INVISIBLE)) {
    const mark = document.createElement('mark');
    mark.textContent = /^[ \t]/.test(found)
      ? `⟨${found.length} blanks⟩`
      : `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
    parts.push(text.slice(end, index), mark);
    end = index + found.length;
    count += 1;
  }
  element.replaceChildren(...parts, text.slice(end));
  return count;
}

/**
 * Like `showExactly`, but returns the element, so that a call can stand among the children of another element.
 * @template {Element} Shown
 * @param {Shown} element
 * @param {string} text
 */
export function exactly(element, text) {
  showExactly(element, text);
  return element;
}
