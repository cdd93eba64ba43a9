// A bare ws server that sends the same text to each client.
import { WebSocketServer } from 'ws';
import { answer, wait } from './live-process.mjs';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
const listening = new Promise((resolve) => server.once('listening', resolve));
let text;
const send = () => {
  for (const client of server.clients) client.send(text);
};

answer({
  port: () => listening.then(() => server.address().port),
  text(given) {
    text = given;
  },
  burst(events) {
    for (let event = 0; event < events; event += 1) send();
  },
  async steady({ rows, everyMs }) {
    for (let event = 0; event < rows; event += 1) {
      await wait(everyMs);
      send();
    }
  },
});
