import { painter } from '../../src/core/cli/output/style.ts';

/** Members of a command's context: no colour, no progress, lines of any length. */
export const PLAIN = {
  isErrorTerminal: false,
  columns: undefined,
  paint: painter(false),
  paintError: painter(false),
  progress: () => {},
} as const;
