// The packages that building needs. After `make run` alone they are installed beside this file, otherwise in the whole
// project.
export { build } from 'esbuild';
export { Marked } from 'marked';

/** The oldest Node that runs what is built, as esbuild names it. */
export const TARGET = 'node20';
