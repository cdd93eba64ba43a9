// The order of the test files. Jest begins with those that took longest the last time. Without that knowledge, as in a
// clean checkout, it begins with the largest files, which are not the slowest.
import Sequencer from '@jest/test-sequencer';

const LONGEST_FIRST = ['/faults/', '/browser/', '/install/', '/fleet/', '/e2e/', '/integration/', '/unit/'];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return sorted.some(({ duration }) => duration !== undefined)
      ? sorted
      : sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ path }) {
  const found = LONGEST_FIRST.findIndex((part) => path.includes(part));
  return found === -1 ? LONGEST_FIRST.length : found;
}
