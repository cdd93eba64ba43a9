/** Number of colours that a person's circle can have. */
const HUES = 8;

/** Returns the number of the colour of an address, below 8. It is the same wherever the address is shown. */
export function hueOf(address: string): number {
  return [...address].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 0) % HUES;
}

/** Returns at most two letters for a name; for a name without letters, such as a number, its last two characters. */
export function initialsOf(name: string): string {
  const letters = name
    .split(/\s+/)
    .map((word) => [...word].find((letter) => /\p{L}/u.test(letter)))
    .filter((letter) => letter !== undefined);
  return letters.length === 0 ? name.slice(-2) : letters.slice(0, 2).join('').toUpperCase();
}
