// Webhook deliveries a second, in one lane and in many, each to a path of the same receiver.
import { summary } from './figures.mjs';
import { startProcess } from './live-process.mjs';
import { withStage } from './live-stage.mjs';

export async function laneRows(path, { rounds, posts }) {
  return [...(await rows(path, 1, rounds, posts)), ...(await rows(path, 16, rounds, posts))];
}

function rows(path, lanes, rounds, posts) {
  return withStage(path, {}, async ({ service, writer, keep }) => {
    const receiver = keep(startProcess('live-receiver.mjs'));
    const url = `http://127.0.0.1:${await receiver.ask('port')}/`;
    for (let lane = 0; lane < lanes; lane += 1) {
      await service.post('/webhooks', { url: `${url}${lane}`, events: ['message.received'] });
    }
    const each = Math.ceil(posts / lanes);
    const rivals = ['axios + axios-retry', 'node:http'].map((kind) => ({
      kind,
      loop: keep(startProcess('live-lanes-rival.mjs', kind, url, lanes)),
    }));
    const measured = [[], [], []];
    for (let round = 0; round <= rounds; round += 1) {
      const [ours] = await Promise.all([receiver.ask('rate', each * lanes), writer.ask('burst', each)]);
      if (round > 0) measured[0].push(ours.perSecond);
      for (const [at, { loop }] of rivals.entries()) {
        const given = { each, body: ours.body, headers: ours.headers };
        const [theirs] = await Promise.all([receiver.ask('rate', each * lanes), loop.ask('post', given)]);
        if (round > 0) measured[at + 1].push(theirs.perSecond);
      }
    }
    const [postern, ...others] = measured.map(summary);
    return rivals.map(({ kind }, at) => ({
      what: `webhook deliveries in ${lanes === 1 ? 'one lane' : `${lanes} lanes`}`,
      rival: `bare keep-alive ${kind} loop`,
      postern,
      rivals: others[at],
      unit: 'deliveries/s',
      ratio: postern.median / others[at].median,
      least: at === 0 ? 0.8 : undefined,
    }));
  });
}
