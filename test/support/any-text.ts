import fc from 'fast-check';

const FIRST_HALF = 0xd800;
const HALVES = 0x800;

/** Any character except unpaired surrogates. */
const character = fc.integer({ min: 0, max: 0x10ffff - HALVES }).map(
  (place) => String.fromCodePoint(place < FIRST_HALF ? place : place + HALVES),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (point === undefined || text !== String.fromCodePoint(point)) throw new Error('not one character');
    return point < FIRST_HALF ? point : point - HALVES;
  },
);

/** Returns texts of any characters, like `unit: 'binary'` of fast-check, which takes each test file 1.3 s to create. */
export function anyText(maxLength?: number): fc.Arbitrary<string> {
  return fc.string({ unit: character, ...(maxLength !== undefined && { maxLength }) });
}
