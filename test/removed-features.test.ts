import { describe, expect, test } from '@jest/globals';
import { augmenting, brokenImports, deletedWith, featureNames, listErrors } from './support/without-features.ts';

/** Why more than three features go together. Key: the feature that is deleted. */
const LARGE_SETS: Readonly<Record<string, string>> = {
  contacts: 'The archive reads the cards itself, and MCP, which sign-in opens, has a tool that resolves names.',
  'self-chat':
    'Limited keys ask there about held sends. Sign-in makes such keys, the overview counts what they do, and canaries go there.',
};

// Decision AD1.
describe('without a feature, and those that need it', () => {
  test.each(featureNames())('nothing imports what is gone: %s', (name) => {
    expect(brokenImports(deletedWith(name))).toEqual([]);
  });

  test('the lists compile', () => {
    expect(featureNames().flatMap((name) => listErrors(deletedWith(name)))).toEqual([]);
  });

  // Members that a feature adds to a type of others would be missed by files that import nothing of the feature.
  test('no type of others loses a member', () => {
    expect(augmenting()).toEqual([]);
  });

  test('no more than three go together without a reason', () => {
    const large = featureNames().filter((name) => deletedWith(name).length > 3);
    expect(large).toEqual(Object.keys(LARGE_SETS));
  });

  test('what is left behind would be found', () => {
    // A need that is not said: `media` is deleted, but not those that need it.
    expect(brokenImports(['media'])).toContainEqual(expect.stringContaining(': src/features/media/port.ts'));
  });
});
