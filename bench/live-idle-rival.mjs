// An empty server that receives no requests.
import { createServer } from 'node:http';

createServer().listen(0, '127.0.0.1');
process.on('disconnect', () => process.exit());
