// Loaded into the service with --import, so that it runs without file events.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

fs.watch = () => {
  throw new Error('switched off');
};
syncBuiltinESMExports();
