// Compares Postern with other packages from npm. Runs in its own process, because imessage-kit must believe that it is
// on a Mac.
import Sqlite from 'better-sqlite3';
import { decodeAttributedBody } from '../dist/src/core/chatdb/attributed-body.js';
import { sideBySide } from './figures.mjs';
import { openReader, whenThere } from './reader.mjs';

const [path, rounds, roundMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const effort = { rounds, roundMs };
const rows = [...(await kitRows()), await decoderRow()];
process.stdout.write(JSON.stringify(rows));

/**
 * Compares the lists of Postern and imessage-kit. Both return 50 objects for the same rows, without reactions; the
 * kit's conversations have an unread count but no participants. The kit caches nothing between calls, so Postern is
 * measured twice: between two commits, and for the first time after one.
 */
async function kitRows() {
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  const { IMessageSDK } = await import('@photon-ai/imessage-kit');
  const kit = new IMessageSDK({ databasePath: path });
  const rows = [];
  for (const isAfterCommit of [false, true]) {
    for (const { name, least, ours, theirs } of questionsTo(kit, openReader(path, { isAfterCommit }))) {
      const [mine, others] = [await ours(), await theirs()];
      const isSame = mine.length > 0 && mine.join() === others.join();
      const [postern, rivals] = await sideBySide([ours, theirs], effort);
      rows.push({
        what: isAfterCommit ? `${name}, first after a commit` : name,
        rival: '@photon-ai/imessage-kit',
        postern,
        rivals,
        unit: 'µs',
        ratio: rivals.median / postern.median,
        least: isAfterCommit ? undefined : least,
        isWrong: !isSame,
        note: isSame ? 'the same rows' : 'the rows differ',
      });
    }
  }
  await kit.close();
  return rows;
}

function questionsTo(kit, { reader, forget }) {
  const sqlite = new Sqlite(path, { readonly: true });
  const chatAt = (order) =>
    sqlite
      .prepare(`SELECT c.guid FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID
        GROUP BY c.ROWID ORDER BY count(*) ${order}, c.ROWID LIMIT 1`)
      .pluck()
      .get();
  const messages = (name, least, guid) => ({
    name,
    least,
    ours: () => {
      forget();
      const query = { order: 'desc', limit: 50, offset: 0, ...(guid && { conversationId: guid }) };
      return whenThere(reader.listMessages(query), ({ items }) => items.map(({ guid: id }) => id));
    },
    theirs: async () => {
      const found = await kit.getMessages({ limit: 50, excludeReactions: true, ...(guid && { chatId: guid }) });
      return found.map(({ id }) => id);
    },
  });
  const conversations = {
    name: '50 conversations',
    least: 20,
    ours: () => {
      forget();
      return whenThere(reader.listConversations({ limit: 50, offset: 0 }), ({ items }) => items.map(({ id }) => id));
    },
    theirs: async () => (await kit.listChats({ limit: 50, sortBy: 'recent' })).map(({ chatId }) => chatId),
  };
  const [busiest, quietest] = [chatAt('DESC'), chatAt('ASC')];
  sqlite.close();
  return [
    conversations,
    messages('busiest conversation, newest 50', 20, busiest),
    messages('quietest conversation, newest 50', 20, quietest),
    messages('newest 50 messages', 8),
  ];
}

/** Compares every decoded text. The time is the mean over a sample from the whole database. */
async function decoderRow() {
  const { Unarchiver } = await import('@parseaple/typedstream');
  const theirText = (blob) => Unarchiver.open(blob).decodeAll()[0].values[0].string;
  const sqlite = new Sqlite(path, { readonly: true });
  const blobs = sqlite.prepare('SELECT attributedBody FROM message WHERE attributedBody IS NOT NULL').pluck();
  const count = sqlite.prepare('SELECT count(attributedBody) FROM message').pluck().get();
  const every = Math.ceil(count / 2000);
  const sample = [];
  let seen = 0;
  let different = 0;
  for (const blob of blobs.iterate()) {
    if (theirText(blob) !== decodeAttributedBody(blob)) different += 1;
    if (seen % every === 0) sample.push(blob);
    seen += 1;
  }
  sqlite.close();
  const decodeSample = (decode) => () => {
    for (const blob of sample) decode(blob);
  };
  const [postern, rivals] = (
    await sideBySide([decodeSample(decodeAttributedBody), decodeSample(theirText)], effort)
  ).map(({ median, low, high }) => ({
    median: median / sample.length,
    low: low / sample.length,
    high: high / sample.length,
  }));
  return {
    what: 'attributedBody, mean of a blob',
    rival: '@parseaple/typedstream',
    postern,
    rivals,
    unit: 'µs',
    ratio: rivals.median / postern.median,
    least: 20,
    isWrong: different > 0,
    note: `${different} of ${seen.toLocaleString('en')} texts differ`,
  };
}
