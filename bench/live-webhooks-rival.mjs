// Posts one body repeatedly, in one loop for each path. Arguments: kind, url, number of paths.
import { Agent, request } from 'node:http';
import axios from 'axios';
import axiosRetry from 'axios-retry';
import { answer } from './live-process.mjs';

const [kind, url, paths] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const httpAgent = new Agent({ keepAlive: true });
const client = axios.create({ httpAgent, maxRedirects: 0, proxy: false });
axiosRetry(client, { retries: 2 });

const posts = {
  'axios + axios-retry': (path, body, headers) => client.post(path, body, { headers }),
  'node:http': (path, body, headers) =>
    new Promise((resolve, reject) => {
      const posted = request(path, { method: 'POST', agent: httpAgent, headers }, (response) =>
        response.on('end', resolve).resume(),
      );
      posted.on('error', reject).end(body);
    }),
};

answer({
  async post({ each, body, headers: { Host, Connection, 'Content-Length': length, ...headers } }) {
    const bytes = Buffer.from(body);
    const given = kind === 'node:http' ? { ...headers, 'Content-Length': bytes.length } : headers;
    const loop = async (path) => {
      for (let post = 0; post < each; post += 1) await posts[kind](path, bytes, given);
    };
    await Promise.all(Array.from({ length: paths }, (_, at) => loop(url + at)));
  },
});
