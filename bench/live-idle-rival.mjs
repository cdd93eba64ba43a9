// An empty server. Nothing is asked of it.
import { createServer } from 'node:http';

createServer().listen(0, '127.0.0.1');
process.on('disconnect', () => process.exit());
