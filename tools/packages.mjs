// The packages that building needs. After `make run` alone they are installed beside this file, otherwise in the whole
// project.
export { build } from 'esbuild';
export { Marked } from 'marked';
