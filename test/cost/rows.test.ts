import { describe, expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { isLong } from '../support/conditions.ts';
import { type Crafted, classChain, craftedArchive, craftedPlist, members, Uid } from '../support/crafted-archives.ts';
import { decodeWhole, type WholeRow } from '../support/decoded-row.ts';
import { processorMs, slowness } from '../support/processor-time.ts';
import { seedOfForm } from '../support/seed.ts';

/** Milliseconds of processor time that decoding a whole row may cost, whatever columns and archives it has. */
const ROW_MS = 50;
/** Maximum size of the JSON of what a row shows besides its body: 64,000 characters, escaped, and their frame. */
const ROW_JSON = 2_000_000;

const LINK = 'com.apple.messages.URLBalloonProvider';
const APP = 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:org.example.app';
const TOUCH = 'com.apple.DigitalTouchBalloonProvider';
const MB = 1_048_576;

const NOTHING: WholeRow = {
  guid: 'a',
  text: '',
  attributedBody: undefined,
  summaryInfo: undefined,
  payload: undefined,
  balloon: '',
  associatedGuid: '',
  isVote: false,
  isUnsent: false,
};

/** Returns the milliseconds that a row costs, and what is decoded. A high cost is measured again. */
function decoded(row: WholeRow) {
  let content = decodeWhole(NOTHING).content;
  let ms = Number.POSITIVE_INFINITY;
  for (let again = 0; again < 4 && ms > ROW_MS; again += 1) {
    const slower = again === 0 ? 1 : slowness();
    const startMs = processorMs();
    ({ content } = decodeWhole(row));
    ms = Math.min(ms, (processorMs() - startMs) / slower);
  }
  return { ms, content, json: JSON.stringify(content).length };
}

function host(characters: number): string {
  return String.fromCodePoint(...Array.from({ length: characters }, (_, at) => 0x4e00 + (at % 20_000)));
}

const url = (address: string): Crafted => members({ 'NS.relative': address, 'NS.base': 'https://example.org/' });

/** A link whose preview lists one image, or several, again and again. */
function images(count: number, ...addresses: readonly string[]): Buffer {
  const urls = addresses.map((address) => members({ URL: url(address) }));
  const list = Array.from({ length: count }, (_, at) => urls[at % urls.length] ?? never());
  return craftedArchive([members({ richLinkMetadata: members({ images: list, URL: url('https://example.org/a') }) })]);
}

/** Lists that each refer eight times to the next one. `first` is the number of the first one. */
function shared(depth: number, end: Crafted, first: number): readonly Crafted[] {
  return Array.from({ length: depth }, (_, at) => {
    const next = at + 1 < depth ? new Uid(first + at + 1) : end;
    return members({ 'NS.objects': Array.from({ length: 8 }, () => next) });
  });
}

const detected = (data: Buffer): Readonly<Record<string, Uint8Array | number>> => ({
  __kIMDataDetectedAttributeName: data,
  __kIMMessagePartAttributeName: 0,
});

/** An archive of a detected date in 1 kB, whose lists refer to each other 8^20 times. */
function scanned(number: number): Buffer {
  return craftedArchive([members({ T: 'Date', MS: `on day ${number}`, SR: [new Uid(2)] }), ...shared(20, 'end', 2)]);
}

function bodyOf(archives: number): Buffer {
  const runs = Array.from({ length: archives }, (_, at) => ({ length: 1, attributes: detected(scanned(at)) }));
  return Buffer.from(encodeAttributedBody('x'.repeat(archives), runs));
}

/** A dictionary with two long lists, to which thousands of other dictionaries refer too. */
function sharedDictionaries(count: number, length: number): Buffer {
  const keys = Array.from({ length }, (_, at) => at);
  const one = (at: number): Crafted => members({ n: at, 'NS.keys': keys, 'NS.objects': keys });
  return craftedArchive([
    members({ richLinkMetadata: members({ all: Array.from({ length: count }, (_, at) => one(at)) }) }),
  ]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 128))];
}

const field = (number: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);

/** A photo of Digital Touch whose list of drawings has one drawing a hundred times. */
function photo(fields: number): Buffer {
  const drawing = Buffer.concat([Buffer.from([8, 4]), field(3, Buffer.alloc(2 * fields, Buffer.from([8, 1])))]);
  const overlays = craftedArchive([members({ 'NS.objects': Array.from({ length: 100 }, () => drawing) })]);
  return Buffer.concat([Buffer.from([8, 6]), field(3, Buffer.concat([field(2, overlays), Buffer.from([0x20, 2])]))]);
}

/** Edits of many parts whose every text is the same long body. */
function edits(parts: number, texts: number, body: Buffer): Buffer {
  const entry = members({ d: 1, t: body });
  const history = Array.from({ length: texts }, () => entry);
  return craftedPlist(
    members({ ec: new Map(Array.from({ length: parts }, (_, part) => [String(part), history] as const)) }),
  );
}

const longTitle = 'a'.repeat(100_000);
const card = (text: string): Buffer =>
  craftedArchive([
    members({
      an: text,
      ldtext: text,
      sessionIdentifier: text,
      userInfo: new Map(
        ['image-title', 'image-subtitle', 'caption', 'subcaption', 'secondary-subcaption', 'tertiary-subcaption'].map(
          (name) => [name, text] as const,
        ),
      ),
    }),
  ]);

const business = (items: number): Buffer =>
  craftedArchive([members({ data: `{"listPicker":{"sections":[{"items":[${Array(items).fill('{}').join()}]}]}}` })]);

const ROWS: Readonly<Record<string, Partial<WholeRow>>> = {
  'a long host, listed 4,900 times': { balloon: LINK, payload: images(4900, `https://${host(8100)}/`) },
  '4,900 long hosts': {
    balloon: LINK,
    payload: images(4900, ...Array.from({ length: 60 }, (_, at) => `https://${at}${host(4000)}/`)),
  },
  '4,900 hosts that are parsed': {
    balloon: LINK,
    payload: images(4900, ...Array.from({ length: 4900 }, (_, at) => `https://${at}${host(50)}/`)),
  },
  'lists that refer to each other 8^30 times': {
    balloon: LINK,
    payload: craftedArchive([members({ richLinkMetadata: new Uid(2) }), ...shared(30, 'end', 2)]),
  },
  'dictionaries that share two lists': { balloon: LINK, payload: sharedDictionaries(3000, 15_000) },
  'a list of 60,000 references': { balloon: LINK, payload: images(60_000, 'https://example.org/b') },
  'a chain of 6,000 classes': { attributedBody: classChain('text', 6000) },
  '600 archives in its body': { attributedBody: bodyOf(600) },
  'one drawing, listed a hundred times': { balloon: TOUCH, payload: photo(450_000) },
  'a drawing of 9,000 fields': { balloon: TOUCH, payload: photo(9000) },
  'one long text, shown ten times': { balloon: APP, payload: card(longTitle) },
  '300,000 choices without a title': {
    balloon: APP.replace('org.example.app', 'com.apple.icloud.apps.messages.business.extension'),
    payload: business(300_000),
  },
  'one long body, edited 40,000 times': {
    summaryInfo: edits(200, 200, Buffer.from(encodeAttributedBody('y'.repeat(MB / 2)))),
  },
};

describe('a row', () => {
  test.each(Object.entries(ROWS))('with %s costs at most 50 ms and shows a bounded text', (_, columns) => {
    const { ms, json } = decoded({ ...NOTHING, ...columns });
    expect(ms).toBeLessThan(ROW_MS);
    expect(json).toBeLessThan(ROW_JSON);
  });

  test('with all of these columns at once costs as little', () => {
    const { ms } = decoded({
      ...NOTHING,
      attributedBody: bodyOf(400),
      summaryInfo: edits(100, 100, Buffer.from(encodeAttributedBody('y'.repeat(100_000)))),
      balloon: LINK,
      payload: images(4900, ...Array.from({ length: 400 }, (_, at) => `https://${at}${host(60)}/`)),
    });
    expect(ms).toBeLessThan(ROW_MS);
  });

  test('that repeats an object decodes it once, and nothing is left out', () => {
    const { content } = decoded({ ...NOTHING, balloon: LINK, payload: images(15_000, 'https://example.org/b') });
    expect(content).toEqual({
      link: { type: 'page', url: 'https://example.org/a', images: ['https://example.org/b'] },
    });
  });

  test('that exceeds the budget keeps what came before, and names the column', () => {
    const { content } = decoded({ ...NOTHING, balloon: APP, payload: card('b'.repeat(20_000)) });
    expect(content.app).toMatchObject({ bundle_id: 'org.example.app', name: 'b'.repeat(20_000) });
    expect(content.app).not.toHaveProperty('summary');
    expect(content.undecoded).toEqual(['payload_data']);
    expect(decoded({ ...NOTHING, attributedBody: classChain('text', 6000) }).content.undecoded).toEqual([
      'attributedBody',
    ]);
    expect(decoded({ ...NOTHING, attributedBody: bodyOf(600) }).content.undecoded).toEqual(['attributedBody']);
  });
});

const RANDOM_ROWS = isLong ? 20_000 : 100;

test(
  'no archive, whatever its objects share, costs a row more than 50 ms',
  () => {
    const chance = new Chance(seedOfForm('crafted archives', 44));
    const failures: string[] = [];
    for (let row = 0; row < RANDOM_ROWS; row += 1) {
      const bodies = Array.from({ length: chance.below(6) }, () => randomArchive(chance));
      const runs = bodies.map((archive) => ({ length: 1, attributes: detected(archive) }));
      const { ms, json } = decoded({
        ...NOTHING,
        attributedBody: Buffer.from(encodeAttributedBody('x'.repeat(bodies.length), runs)),
        summaryInfo: craftedPlist(members({ tmp: randomArchive(chance) })),
        balloon: chance.of([LINK, APP, TOUCH]),
        payload: randomArchive(chance),
      });
      if (ms > ROW_MS || json > ROW_JSON) failures.push(`row ${row}: ${ms.toFixed(0)} ms, ${json} characters`);
    }
    expect(failures).toEqual([]);
  },
  isLong ? 3_600_000 : 120_000,
);

/** Members that the decoders look for. */
const NAMES = ['richLinkMetadata', 'URL', 'images', 'title', 'userInfo', 'caption', 'SR', 'T', 'MS', '0', 'ldtext'];

/** An archive of random objects that refer to each other as often as a size of up to 400 kB allows. */
function randomArchive(chance: Chance): Buffer {
  const count = 2 + chance.below(60);
  const width = 1 + chance.below(chance.in(0.2) ? 1000 : 20);
  const texts = ['Date', longTitle.slice(0, chance.below(20_000)), `https://${host(chance.below(4000))}/`] as const;
  const pick = (): Crafted => (chance.in(0.8) ? new Uid(1 + chance.below(count)) : chance.of(texts));
  const list = (): readonly Crafted[] => Array.from({ length: width }, pick);
  return craftedArchive(
    Array.from({ length: count }, () => {
      if (chance.in(0.2)) return members({ 'NS.objects': list() });
      if (chance.in(0.2)) {
        return members({ 'NS.keys': Array.from({ length: width }, (_, at) => at), 'NS.objects': list() });
      }
      if (chance.in(0.3)) return url(`${texts[2]}${chance.below(1000)}`);
      return new Map(NAMES.map((name) => [name, pick()] as const));
    }),
  );
}

function never(): never {
  throw new Error('there is no such object');
}
