const DIGIT = /\p{Nd}/gu;
const IS_DIGIT = /^\p{Nd}$/u;

/** Replaces the decimal digits of every script, such as Arabic and fullwidth ones, by 0 to 9. */
export function asciiDigits(text: string): string {
  return text.replace(DIGIT, (digit) => String(digitValue(digit.codePointAt(0) ?? 0)));
}

/** Returns a digit's value. Unicode encodes digits in rows of ten that begin with zero. */
function digitValue(code: number): number {
  let zero = code;
  while (IS_DIGIT.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (code - zero) % 10;
}
