// The packages that building needs: those beside this file after `make run` alone, otherwise those of the whole
// project.
export { build } from 'esbuild';
export { Marked } from 'marked';
