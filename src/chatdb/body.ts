const OBJECT = 0xfffc; // stands for an attachment
const REPLACEMENT = 0xfffd; // stands for an app's own balloon

/** Decision B2: placeholders are taken out, at either end together with the line break beside them. */
export function cleanBody(text: string): string {
  if (!text.includes('\uFFFC') && !text.includes('\uFFFD')) return text;
  let start = 0;
  while (start < text.length && isPlaceholder(text.charCodeAt(start))) {
    start += 1;
    if (!isPlaceholder(text.charCodeAt(start))) start += lineBreakAfter(text, start);
  }
  let end = text.length;
  while (end > start && isPlaceholder(text.charCodeAt(end - 1))) {
    end -= 1;
    if (!isPlaceholder(text.charCodeAt(end - 1))) end -= lineBreakBefore(text, end, start);
  }
  return text.slice(start, end).replace(/[\uFFFC\uFFFD]/g, '');
}

/** How many attachments a text announces. */
export function countPlaceholders(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\uFFFC'); at >= 0; at = text.indexOf('\uFFFC', at + 1)) count += 1;
  return count;
}

function isPlaceholder(code: number): boolean {
  return code === OBJECT || code === REPLACEMENT;
}

function isLineBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x2028 || code === 0x2029;
}

function lineBreakAfter(text: string, at: number): number {
  if (!isLineBreak(text.charCodeAt(at))) return 0;
  return text.charCodeAt(at) === 0x0d && text.charCodeAt(at + 1) === 0x0a ? 2 : 1;
}

function lineBreakBefore(text: string, at: number, start: number): number {
  if (at <= start || !isLineBreak(text.charCodeAt(at - 1))) return 0;
  return at - 1 > start && text.charCodeAt(at - 1) === 0x0a && text.charCodeAt(at - 2) === 0x0d ? 2 : 1;
}
