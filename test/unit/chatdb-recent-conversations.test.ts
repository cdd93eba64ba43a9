import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Chance } from '../../src/features/simulator/chatter.ts';
import { ChatFixture, type Schema } from '../support/chat-fixture.ts';
import { isLong } from '../support/conditions.ts';
import { collectingLog } from '../support/log.ts';
import { seededChance } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const toClose: (() => void)[] = [];
afterEach(() => {
  for (const close of toClose.splice(0).reverse()) close();
});
let files = 0;

const NS = 1_000_000_000n;
const FIRST_S = 700_000_000n;

/** A chat.db whose rows, and the changes to them, come from a seed. */
class History {
  readonly path: string;
  readonly #chance: Chance;
  readonly #schema: Schema;
  #fixture: ChatFixture;
  #second = FIRST_S;

  constructor(schema: Schema, chance: Chance) {
    files += 1;
    this.path = join(folder, `recent-${files}.db`);
    this.#schema = schema;
    this.#chance = chance;
    this.#fixture = this.#fill();
    toClose.push(() => this.#fixture.close());
  }

  #fill(): ChatFixture {
    const fixture = new ChatFixture(this.path, this.#schema);
    this.#fixture = fixture;
    fixture.transaction(() => {
      for (let chat = 0; chat < 30; chat += 1) fixture.chat(`any;-;${files}-${chat}`);
      for (let n = 0; n < 300; n += 1) this.#message();
    });
    return fixture;
  }

  /** Makes one commit of one to four changes. */
  commit(): string {
    const kinds = Array.from({ length: this.#chance.below(4) + 1 }, () => this.#pick(Object.keys(this.#changes)));
    if (kinds.includes('replaced')) {
      this.#changes.replaced?.();
      return 'replaced';
    }
    this.#fixture.transaction(() => {
      for (const kind of kinds) this.#changes[kind]?.();
    });
    return kinds.join(', ');
  }

  readonly #changes: Readonly<Record<string, () => unknown>> = {
    message: () => this.#message(),
    'another message': () => this.#message(),
    'late message': () => this.#message(this.#past()),
    'message without a dated join': () => this.#message(undefined, this.#pick([0, null])),
    'message in seconds': () => this.#message(this.#second),
    'join added later': () => {
      const rowId = this.#fixture.message({ date: this.#now() * NS });
      this.#fixture.sqlite.prepare('DELETE FROM chat_message_join WHERE message_id = ?').run(rowId - 1);
      this.#join(rowId, this.#second * NS);
    },
    'second join': () =>
      this.#run(
        'INSERT OR IGNORE INTO chat_message_join (chat_id, message_id, message_date) SELECT c.ROWID, m.ROWID, m.date FROM chat c, message m WHERE c.ROWID = ? AND m.ROWID = ?',
        this.#chat(),
        this.#row(),
      ),
    'date lowered': () => this.#lower('ROWID = ?', this.#row()),
    'newest lowered': () => this.#lower('ROWID = (SELECT max(message_id) FROM chat_message_join)'),
    'date raised': () => this.#run('UPDATE message SET date = ? WHERE ROWID = ?', this.#now() * NS, this.#row()),
    'message deleted': () => this.#run('DELETE FROM message WHERE ROWID = ?', this.#row()),
    'newest deleted': () => this.#run('DELETE FROM message WHERE ROWID = (SELECT max(ROWID) FROM message)'),
    'newest join deleted': () =>
      this.#run('DELETE FROM chat_message_join WHERE ROWID = (SELECT max(ROWID) FROM chat_message_join)'),
    'chat made': () => void this.#fixture.chat(`any;-;${files}-new-${this.#now()}`),
    'chat deleted': () => {
      const chat = this.#chat();
      this.#run('DELETE FROM chat_message_join WHERE chat_id = ?', chat);
      this.#run('DELETE FROM chat WHERE ROWID = ?', chat);
    },
    'chat emptied': () => this.#run('DELETE FROM chat_message_join WHERE chat_id = ?', this.#chat()),
    scheduled: () =>
      this.#schema === 'macos-26' &&
      this.#run(
        'UPDATE message SET schedule_type = 2, schedule_state = 2, is_sent = 0, is_from_me = 1 WHERE ROWID = ?',
        this.#row(),
      ),
    sent: () =>
      this.#schema === 'macos-26' &&
      this.#run('UPDATE message SET schedule_type = 0, date = ? WHERE schedule_type = 2', this.#now() * NS),
    receipt: () => this.#run('UPDATE message SET is_read = 1 WHERE ROWID = ?', this.#row()),
    renamed: () => this.#run('UPDATE chat SET display_name = ? WHERE ROWID = ?', `name ${this.#second}`, this.#chat()),
    replaced: () => {
      if (this.#chance.below(8) > 0) return;
      this.#fixture.remove();
      files += 1;
      this.#fill();
    },
  };

  #message(date = this.#now() * NS, joinDate: bigint | number | null = date): void {
    const rowId = this.#fixture.message({ guid: `G-${files}-${this.#chance.below(2 ** 30)}-${this.#second}`, date });
    this.#join(rowId, joinDate);
  }

  /** Never raises a date: a date raised by an update outside the page is found later, as the test below shows. */
  #lower(condition: string, ...values: readonly number[]): void {
    const past = this.#past();
    this.#run(`UPDATE message SET date = ? WHERE date > ? AND ${condition}`, past, past, ...values);
  }

  #join(rowId: number, date: bigint | number | null): void {
    this.#run(
      'INSERT INTO chat_message_join (chat_id, message_id, message_date) SELECT ROWID, ?, ? FROM chat WHERE ROWID = ?',
      rowId,
      date,
      this.#chat(),
    );
  }

  #run(sql: string, ...values: readonly (string | number | bigint | null)[]): void {
    if (values.length === 0) this.#fixture.sqlite.exec(`${sql};`);
    else this.#fixture.sqlite.prepare(sql).run(...values);
  }

  /** Returns a date newer than all before. */
  #now(): bigint {
    this.#second += 1n;
    return this.#second;
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#chance.below(items.length)] as Item;
  }

  #past(): bigint {
    return (FIRST_S - BigInt(this.#chance.below(1000))) * NS;
  }

  #chat(): number {
    return this.#chance.below(40) + 1;
  }

  #row(): number {
    return (
      this.#chance.below(Number(this.#fixture.sqlite.prepare('SELECT max(ROWID) FROM message').all()[0]?.[0] ?? 1)) + 1
    );
  }
}

function connect(path: string): Connection {
  const connection = new Connection({ path, home: '/home', log: collectingLog() });
  toClose.push(() => connection.close());
  return connection;
}

describe.each<Schema>(['macos-26', 'macos-12'])('the kept order of conversations on the %s schema', (schema) => {
  test('is that of a full rebuild after every kind of commit', async () => {
    const history = new History(schema, seededChance(`order of conversations, ${schema}`));
    const kept = connect(history.path);
    const reader = new ChatReader(kept);
    for (let n = 0; n < (isLong ? 1000 : 50); n += 1) {
      const kinds = history.commit();
      kept.check();
      const fresh = connect(history.path);
      const rebuilt = new ChatReader(fresh);
      for (const query of [
        { limit: 10, offset: 0 },
        { limit: 50, offset: n % 30 },
      ]) {
        const [mine, theirs] = [await reader.listConversations(query), await rebuilt.listConversations(query)];
        expect([n, kinds, mine.items]).toEqual([n, kinds, theirs.items]);
      }
      fresh.close();
    }
  });
});

test('an old message whose date was raised out of sight is in its order after a hundred commits', async () => {
  files += 1;
  const fixture = new ChatFixture(join(folder, `raised-${files}.db`));
  toClose.push(() => fixture.close());
  fixture.transaction(() => {
    for (let n = 1; n <= 240; n += 1) {
      const chat = fixture.chat(`any;-;${n}`);
      fixture.message({ chat, date: (FIRST_S + 10n * BigInt(n)) * NS });
    }
  });
  const reader = new ChatReader(connect(fixture.path));
  const places = async () => (await reader.listConversations({ limit: 240, offset: 0 })).items.map(({ id }) => id);
  expect((await places()).at(-1)).toBe('any;-;1');
  // Behind the newest hundred, where only reading everything would find it.
  fixture.sqlite.prepare('UPDATE message SET date = ? WHERE ROWID = 1').run((FIRST_S + 1001n) * NS);
  for (let commit = 0; commit <= 100; commit += 1) {
    fixture.sqlite.exec('UPDATE message SET is_read = 1 - is_read');
    await places();
  }
  expect((await places()).indexOf('any;-;1')).toBe(140);
});
