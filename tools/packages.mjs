// The packages that building needs: beside this file after `make run` alone, else those of the whole project.
export { build } from 'esbuild';
export { Marked } from 'marked';
