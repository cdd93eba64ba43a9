// The bare servers that Postern is compared with. Argument 2 is `node:http` or `tinyhttp`, 3 the database, 4 the
// question. Prints the port.
import { createServer } from 'node:http';
import { App } from '@tinyhttp/app';
import { questions } from './reader.mjs';

const { theirs } = questions(process.argv[3])[Number(process.argv[4])];
const answer = (_request, response) => {
  const body = Buffer.from(theirs());
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length });
  response.end(body);
};
const app = new App().get('/api/v1/*', answer);
const server = createServer(process.argv[2] === 'tinyhttp' ? app.handler.bind(app) : answer);
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
