// A separate program: exits with 0 if this process can read the database named by its argument.
import { openSqlite } from '../runtime/sqlite.ts';

const database = openSqlite(process.argv[2] ?? '', { readonly: true });
database.prepare('SELECT count(*) FROM sqlite_master').get();
database.close();
