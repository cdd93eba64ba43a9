import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { chatSendLookup } from '../../src/core/chatdb/lookups.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { HiddenText } from '../../src/core/model/hidden-text.ts';
import { AwakeClock } from '../../src/core/runtime/awake-clock.ts';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import type { Sender } from '../../src/core/sender/sender.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { Canary } from '../../src/features/canary/canary.ts';
import { canary } from '../../src/features/canary/feature.ts';
import type { CanaryStore } from '../../src/features/canary/ports.ts';
import { canaryStore } from '../../src/features/canary/store.ts';
import { CANARY_LENGTH, CANARY_START } from '../../src/features/canary/text.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { Messages } from '../../src/features/simulator/simulated-messages.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { newSender } from '../support/new-sender.ts';
import { idle } from '../support/sender-fixture.ts';

/** The canaries of this address. */
function hiddenIn(chat: string): readonly HiddenText[] {
  return chat === '' ? [] : [{ chat, start: CANARY_START, length: CANARY_LENGTH }];
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
const SELF_CHAT = `any;-;${OWN_ADDRESS}`;

/** A simulated Mac and a service's canary, with one clock. */
export class World {
  readonly clock = new FakeClock();
  readonly log = collectingLog();
  readonly mac: Messages;
  readonly state: Sqlite;
  isProved = true;
  provedMs = 0;
  /** How often the canary has asked whether the conversation is proved. */
  proofs = 0;
  canary: Canary;
  store: CanaryStore;
  readonly #awake: AwakeClock;
  readonly #connection: Connection;
  readonly #sender: Sender;

  constructor(home: string) {
    const { clock, log } = this;
    mkdirSync(home);
    this.mac = new Messages({ home, version: '26', clock });
    this.mac.database.directChat(OWN_ADDRESS);
    this.#connection = new Connection({ path: this.mac.path, home, log, hidden: hiddenIn(OWN_ADDRESS) });
    this.#connection.check();
    this.state = openStateDatabase(join(home, 'state.db'), [canary]);
    this.store = canaryStore(this.state);
    // A beat each second would make up most of the test's work.
    this.#awake = new AwakeClock(clock, log, { beatMs: MINUTE_MS });
    this.#awake.start();
    ({ sender: this.#sender } = newSender({
      messages: {
        run: async ({ recipient, chatId, service, content }) => {
          const body = 'body' in content ? content.body : '';
          const script = { recipient, chatId: chatId ?? '', service: service ?? '', body };
          const { exitCode = 0, stderr = '' } = (await this.mac.perform({ do: 'send', ...script })) as ScriptEnd;
          if (exitCode === 0) return { kind: 'done' };
          return { kind: 'failed', number: Number(/\((-?\d+)\)/.exec(stderr)?.[1] ?? 0), message: stderr };
        },
        isAsking: async () => false,
        open: async () => {},
        liveChatIds: async () => [],
      },
      lookup: chatSendLookup(this.#connection),
      idempotency: idempotencyStore(this.state),
      sentParts: sentPartStore(this.state),
      clock,
      log,
      confirmMs: 3000,
      attachments: { roots: [], chatDbPath: this.mac.path, configDir: home },
    }));
    this.canary = this.#made();
  }

  /** Opens the same state.db in another process. */
  restart({ store = canaryStore(this.state) }: { readonly store?: CanaryStore } = {}): void {
    void this.canary.close();
    this.store = store;
    this.canary = this.#made();
    this.canary.start();
  }

  /** Lets time pass while commits are noticed, minute by minute in the last 15 to 45 minutes. */
  async pass(ms: number): Promise<void> {
    let step: number;
    for (let left = ms; left > 0; left -= step) {
      step = left > 45 * MINUTE_MS ? HOUR_MS / 2 : Math.min(left, MINUTE_MS);
      await idle();
      await this.clock.advance(step);
      this.#connection.check();
      this.canary.noteCommit();
      await idle();
    }
  }

  /** Lets the Mac sleep, during which nothing runs. */
  async sleep(ms: number): Promise<void> {
    this.clock.pause(ms);
    await this.pass(1);
  }

  /** Returns the texts of the own rows in the conversation. */
  sent(): readonly string[] {
    const rows = this.mac.database.sqlite.prepare('SELECT attributedBody FROM message WHERE is_from_me ORDER BY ROWID');
    return rows
      .all()
      .map(([body]) => /Postern canary \w+/.exec(Buffer.from(body as Uint8Array).toString('latin1'))?.[0] ?? '');
  }

  async behave(behaviour: object): Promise<void> {
    await this.mac.perform({ do: 'behave', ...behaviour });
  }

  close(): void {
    void this.canary.close();
    this.#awake.close();
    this.#connection.close();
    this.state.close();
    this.mac.close();
  }

  #made(): Canary {
    const proof = { address: OWN_ADDRESS, chat: SELF_CHAT, provedMs: 0 };
    return new Canary({
      address: OWN_ADDRESS,
      selfChat: {
        isProved: () => this.isProved,
        provedMs: () => (this.isProved ? this.provedMs : undefined),
        proof: () => {
          this.proofs += 1;
          return this.isProved ? proof : undefined;
        },
      },
      store: this.store,
      reader: new ChatReader(this.#connection),
      sender: this.#sender,
      clock: this.clock,
      awake: this.#awake,
      log: this.log,
    });
  }
}

interface ScriptEnd {
  readonly exitCode?: number;
  readonly stderr?: string;
}
