import { readFileSync } from 'node:fs';
import { openSqlite, sqliteLibrary } from '../src/runtime/sqlite.ts';

/**
 * The installer runs this program once, on the private Node in a new version's folder. Loads every required library and
 * opens a database; exits with an error if that fails. Only names the optional libraries that do not load.
 */
const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

for (const name of Object.keys(dependencies)) await import(name);
openSqlite(':memory:').close();
process.stdout.write(
  `${Object.keys(dependencies).length} libraries load on Node ${process.versions.node}; SQLite comes from ${sqliteLibrary}.\n`,
);

const missing: string[] = [];
for (const name of Object.keys(optionalDependencies)) if (!(await loads(name))) missing.push(name);
if (missing.length > 0) {
  process.stdout.write(`Not built on this machine: ${missing.join(', ')}. Postern works without them.\n`);
}

async function loads(name: string): Promise<boolean> {
  // Importing better-sqlite3 does not load its native part, so an import proves nothing. `sqliteLibrary` names the
  // library that opened the database above.
  if (name === 'better-sqlite3') return sqliteLibrary === name;
  try {
    await import(name);
    return true;
  } catch {
    return false;
  }
}
