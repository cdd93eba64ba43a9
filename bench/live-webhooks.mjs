// Measures webhook deliveries per second to one webhook and to many, each a path of the same receiver.
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { startProcess } from './live-process.mjs';

export async function webhookRows(path, { rounds, posts }) {
  return [...(await rows(path, 1, rounds, posts)), ...(await rows(path, 16, rounds, posts))];
}

function rows(path, webhooks, rounds, posts) {
  return withCopy(path, {}, async ({ service, writer, keep }) => {
    const receiver = keep(startProcess('live-receiver.mjs'));
    const url = `http://127.0.0.1:${await receiver.ask('port')}/`;
    for (let at = 0; at < webhooks; at += 1) {
      await service.post('/webhooks', { url: `${url}${at}`, events: ['message.received'] });
    }
    const each = Math.ceil(posts / webhooks);
    const rivals = ['axios + axios-retry', 'node:http'].map((kind) => ({
      kind,
      loop: keep(startProcess('live-webhooks-rival.mjs', kind, url, webhooks)),
    }));
    const measured = [[], [], []];
    for (let round = 0; round <= rounds; round += 1) {
      const [ours] = await Promise.all([receiver.ask('rate', each * webhooks), writer.ask('burst', each)]);
      if (round > 0) measured[0].push(ours.perSecond);
      for (const [at, { loop }] of rivals.entries()) {
        const given = { each, body: ours.body, headers: ours.headers };
        const [theirs] = await Promise.all([receiver.ask('rate', each * webhooks), loop.ask('post', given)]);
        if (round > 0) measured[at + 1].push(theirs.perSecond);
      }
    }
    const [postern, ...others] = measured.map(summary);
    return rivals.map(({ kind }, at) => ({
      what: `webhook deliveries to ${webhooks === 1 ? 'one webhook' : `${webhooks} webhooks`}`,
      rival: `bare keep-alive ${kind} loop`,
      postern,
      rivals: others[at],
      unit: 'deliveries/s',
      ratio: postern.median / others[at].median,
      least: at === 0 ? 0.8 : undefined,
    }));
  });
}
