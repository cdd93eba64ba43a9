// Packs the pipe of `postern mcp` as an MCPB bundle, which Claude Desktop and others install. Takes the output file
// as an argument; the default is dist/postern.mcpb.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, TARGET } from '../../tools/packages.mjs';
import { zip } from './zip.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const manifest = JSON.parse(readFileSync(`${root}installer/mcpb/manifest.json`, 'utf8'));

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ['src/features/mcp/cli/mcpb.ts'],
  write: false,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: TARGET,
  minify: true,
  legalComments: 'inline',
  define: { POSTERN_VERSION: JSON.stringify(version) },
  // The typed client needs it for WebSockets, which `postern mcp` never opens.
  external: ['ws'],
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  logLevel: 'warning',
});

mkdirSync(`${root}dist`, { recursive: true });
const path = process.argv[2] ?? `${root}dist/postern.mcpb`;
writeFileSync(
  path,
  zip([
    ['manifest.json', JSON.stringify({ ...manifest, version }, null, 2)],
    ['LICENSE', readFileSync(`${root}LICENSE`)],
    ['server/index.mjs', outputFiles[0].contents],
  ]),
);
console.log(path);
