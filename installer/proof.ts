import { readFileSync } from 'node:fs';
import { openSqlite } from '../src/runtime/sqlite.ts';

/**
 * Run once by the installer, on the private Node, in the folder of a new version: loads every library and
 * opens a database. Whatever cannot be loaded ends it with an error.
 */
const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

for (const name of Object.keys(dependencies)) await import(name);
openSqlite(':memory:').close();
process.stdout.write(`${Object.keys(dependencies).length} libraries load on Node ${process.versions.node}.\n`);

for (const name of Object.keys(optionalDependencies)) {
  try {
    await import(name);
  } catch {
    process.stdout.write(
      `${name} could not be built here (it needs the Xcode command line tools); Postern does without.\n`,
    );
  }
}
