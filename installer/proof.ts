import { readFileSync } from 'node:fs';
import { openSqlite, sqliteLibrary } from '../src/core/runtime/sqlite.ts';

/**
 * The installer runs this program once, on the private Node in a new version's folder. It loads every required library
 * and opens a database; if one of these steps fails, it exits with an error. An optional library that does not load is
 * only mentioned in the output.
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
  // Importing better-sqlite3 does not load its native part, so a successful import would prove nothing. Instead, checks
  // that the database above was opened with this library.
  if (name === 'better-sqlite3') return sqliteLibrary === name;
  try {
    await import(name);
    return true;
  } catch {
    return false;
  }
}
