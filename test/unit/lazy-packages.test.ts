import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('../../dist/program/', import.meta.url));
/** Texts of packages and modules that most services never need. */
const RARE = [
  ['a service that nobody asks over MCP loads nothing of the protocol', 'notifications/resources/updated'],
  ['a service without a fleet loads nothing of NATS', '$JS.API'],
  ['a service that is sent no Markdown loads nothing of its parser', 'Input data should be a String'],
  ['a service without a port of BlueBubbles loads nothing of that protocol', 'Ping received!'],
  ['a service without an issuer loads nothing of OAuth', 'code_challenge_methods_supported'],
] as const;

/** Returns the files that are loaded with these through static imports. */
function loadedWith(files: readonly string[]): ReadonlySet<string> {
  const found = new Set(files);
  for (const file of found) {
    const text = readFileSync(join(PROGRAM, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:import|export)\b[^;]*?"\.\/([\w-]+\.mjs)";/gm)) found.add(name);
  }
  return found;
}

test.each(RARE)('%s', (_name, text) => {
  const files = readdirSync(PROGRAM).filter((name) => name.endsWith('.mjs'));
  const holds = (file: string): boolean => readFileSync(join(PROGRAM, file), 'utf8').includes(text);
  const app = files.filter((name) => name.startsWith('service-'));
  expect(app).toHaveLength(1);
  const loaded = loadedWith(['main.mjs', ...app]);
  expect(loaded.size).toBeGreaterThan(3);
  expect([...loaded].filter(holds)).toEqual([]);
  expect(files.filter(holds)).not.toEqual([]);
});

test('the licence of what is bundled stands beside it', () => {
  const licenceOf = (name: string): string => readFileSync(join(PROGRAM, `licences/${name}.txt`), 'utf8');
  for (const name of ['@modelcontextprotocol-server', '@modelcontextprotocol-core', '@nats-io-transport-node']) {
    expect(licenceOf(name)).toContain('Apache License');
  }
  for (const name of ['preact', '@preact-signals', '@preact-signals-core']) {
    expect(licenceOf(name)).toContain('The MIT License');
  }
});
