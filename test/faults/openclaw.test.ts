import { afterAll, beforeAll, expect } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { hasOpenClaw, OpenClaw, StandInModel } from '../support/openclaw.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const STRANGER = '+15550199';
const AGENT = { scopes: ['read', 'events', 'send'], read: [ANA], send: [ANA], caps: { per_minute: 60 } };
/** The gateway takes half a minute to subscribe, and waits longer after each failure of its channel. */
const PATIENT_MS = 240_000;
const LIMIT_MS = 600_000;

const testOpenClaw = testIf(
  hasOpenClaw,
  'needs npm ci --prefix test/support/openclaw --ignore-scripts, then node test/support/openclaw/prepare.mjs',
);

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let model: StandInModel;
let claw: OpenClaw;
let keyId: string;

beforeAll(async () => {
  if (!hasOpenClaw) return;
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'before everything' });
  service = await Service.start({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  model = await StandInModel.start();
  const { key, id } = await limitedKey(service, { ...AGENT, approval: 'never' });
  keyId = id;
  claw = await OpenClaw.create({ service, model, key, allowFrom: [ANA, STRANGER] });
}, LIMIT_MS);
afterAll(async () => {
  if (!hasOpenClaw) return;
  await claw.stop();
  await model.close();
  await service.dispose();
  await mac.dispose();
});

const sent = () => mac.calls.flatMap(({ values }) => (values.BODY === undefined ? [] : [values.BODY]));
const receive = (text: string, from = ANA) => mac.command({ do: 'receive', from, text });

async function streams(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/metrics`, { headers: { 'x-api-key': KEY } });
  return Number(/^postern_stream_clients (\d+)/m.exec(await answer.text())?.[1] ?? 0);
}
const subscribed = () => waitFor(async () => (await streams()) > 0, PATIENT_MS);

/** Waits until the agent was asked with this text and a later answer was sent. */
async function answered(text: string): Promise<void> {
  const asked = await waitFor(() => {
    const at = model.requests.findIndex((body) => body.includes(text));
    return at === -1 ? undefined : { number: at + 1 };
  }, PATIENT_MS);
  await waitFor(() => sent().some((answer) => numberOf(answer) >= asked.number), PATIENT_MS);
}

const numberOf = (answer: string): number => Number(/^Answer (\d+)$/.exec(answer)?.[1] ?? 0);

testOpenClaw(
  'a message reaches the agent and its answer leaves; a stranger reaches nobody',
  async () => {
    claw.start();
    await subscribed();
    await receive('Is the kettle on?');
    await answered('Is the kettle on?');
    await receive('a stranger speaks', STRANGER);
    await receive('And the lamp?');
    await answered('And the lamp?');
    expect(model.requests.join('\n')).not.toContain('a stranger speaks');
    expect(new Set(sent()).size).toBe(sent().length);
  },
  LIMIT_MS,
);

testOpenClaw(
  'a killed program is started again, and what came meanwhile is answered once',
  async () => {
    for (const { pid } of claw.calls.filter(({ words }) => words === 'rpc --json')) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // This process was a send that has already ended.
      }
    }
    await waitFor(async () => (await streams()) === 0, PATIENT_MS);
    await receive('while the program was dead');
    await answered('while the program was dead');
    expect(new Set(sent()).size).toBe(sent().length);
  },
  LIMIT_MS,
);

testOpenClaw(
  'a service that is away for a while is found again, and nothing is lost or answered twice',
  async () => {
    const tries = claw.output.split('auto-restart attempt').length;
    await service.stop();
    await receive('while the service was away');
    // Longer than the plugin keeps trying without a pause.
    await waitFor(() => claw.output.split('auto-restart attempt').length > tries + 2, PATIENT_MS);
    await service.launch();
    await answered('while the service was away');
    await receive('after the service was back');
    await answered('after the service was back');
    expect(new Set(sent()).size).toBe(sent().length);
  },
  LIMIT_MS,
);

testOpenClaw(
  'a message that came while the gateway was stopped is answered when it comes back',
  async () => {
    await claw.stop();
    await receive('while the gateway was stopped');
    claw.start();
    await answered('while the gateway was stopped');
    expect(new Set(sent()).size).toBe(sent().length);
  },
  LIMIT_MS,
);

testOpenClaw(
  'an answer that is held is not tried again, and goes out once when the owner approves it',
  async () => {
    await service.request('PATCH', `/keys/${keyId}`, {
      body: JSON.stringify({ approval: 'always' }),
      headers: { 'content-type': 'application/json' },
    });
    const before = sent().length;
    await receive('may you answer this?');
    const [approval] = await waitFor(async () => {
      const held = (await service.get('/approvals?state=held')).json as { id: string; shown: string; text: string }[];
      return held.length > 0 && held;
    }, PATIENT_MS);
    expect(sent()).toHaveLength(before);
    await service.post(`/approvals/${approval?.id}/approve`, { shown: approval?.shown });
    await eventually(() => expect(sent()).toHaveLength(before + 1));
    expect(sent().at(-1)).toBe(approval?.text);
    expect((await service.get('/approvals?state=held')).json).toEqual([]);
  },
  LIMIT_MS,
);
