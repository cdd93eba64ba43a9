import { describe, expect, test } from '@jest/globals';
import { CompilerWithoutFeatures, deletedWith, featureNames } from './support/without-features.ts';

/** Features that leave errors behind, with their number. The list only shrinks. */
const LEAVES_ERRORS: Readonly<Record<string, number>> = {};

/** Why more than three features go together. Key: the feature that is deleted. */
const LARGE_SETS: Readonly<Record<string, string>> = {
  contacts: 'The archive reads the cards itself, and MCP, which sign-in opens, has a tool that resolves names.',
  'self-chat':
    'Limited keys ask there about held sends. Sign-in makes such keys, the overview counts what they do, and canaries go there.',
};

// Decision AD1.
describe('without a feature, and those that need it', () => {
  const compiler = new CompilerWithoutFeatures();

  test.each(featureNames())('the program compiles: %s', (name) => {
    const errors = compiler.errors(deletedWith(name));
    const known = LEAVES_ERRORS[name] ?? 0;
    // Shows the errors if there are more than are known.
    if (errors.length > known) expect(errors).toEqual([]);
    expect(errors).toHaveLength(known);
  });

  test('no more than three go together without a reason', () => {
    const large = featureNames().filter((name) => deletedWith(name).length > 3);
    expect(large).toEqual(Object.keys(LARGE_SETS));
  });

  test('the compiler would find what is left behind', () => {
    // A need that is not said: `media` is deleted, but not those that need it.
    expect(compiler.errors(['media'])).toContainEqual(expect.stringContaining("Cannot find module '../media/port.ts'"));
  });
});
