// Bundles the console for dist/, and builds the guide that it serves.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from '../../../tools/packages.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The folders of packages. After `make run` those for building are only in the second. */
const PACKAGES = [`${root}node_modules`, `${root}tools/node_modules`];
const CONSOLE = 'src/features/console';

/** Bundles the console's scripts and style sheets, into one folder. What several scripts need has files of its own. */
async function bundle() {
  const shared = {
    absWorkingDir: root,
    outdir: `dist/${CONSOLE}/static`,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target: 'es2023',
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  };
  const scripts = {
    ...shared,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    nodePaths: PACKAGES,
  };
  const { metafile } = await build({
    ...scripts,
    splitting: true,
    entryPoints: [`${CONSOLE}/app/console.ts`],
    metafile: true,
  });
  preloadFirstView(metafile);
  // The reference is served below another path, so it shares no files with the console.
  await build({ ...scripts, entryPoints: [`${CONSOLE}/app/docs.ts`] });
  await build({
    ...shared,
    // The reference has the colours in a file of its own.
    entryPoints: ['console', 'views', 'docs', 'docs-operation', 'colours'].map(
      (name) => `${CONSOLE}/styles/${name}.css`,
    ),
    external: ['swagger-ui.css'],
  });
}

/** Names the files of the first view in the page, so that a browser asks for all of them at once. */
function preloadFirstView({ outputs }) {
  const page = `${root}dist/${CONSOLE}/static/console.html`;
  const needed = new Set();
  const add = (path) => {
    if (needed.has(path)) return;
    needed.add(path);
    for (const one of outputs[path].imports) if (one.kind === 'import-statement') add(one.path);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) {
    if (entryPoint?.endsWith('/console.ts')) add(path);
  }
  const links = [...needed].map((path) => `<link rel="modulepreload" href="console/${path.split('/').at(-1)}">`);
  writeFileSync(page, readFileSync(page, 'utf8').replace('</head>', `  ${links.join('\n  ')}\n</head>`));
}

await bundle();
// Takes 0.3 s.
await import('../../../docs/site/build.mjs');
