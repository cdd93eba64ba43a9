import { describe, expect, test } from '@jest/globals';
import { columnsOf, oneLine } from '../../src/core/cli/output/text.ts';
import { webhookBody } from '../../src/core/http/webhooks/schema.ts';
import { safeFileName } from '../../src/core/model/file-name.ts';
import { folded } from '../../src/core/model/folded.ts';
import type { Message } from '../../src/core/model/message.ts';
import { visible } from '../../src/core/model/visible.ts';
import { checkBody } from '../../src/core/schema/mistakes.ts';
import { contentHash } from '../../src/core/sender/content-hash.ts';
import { linked } from '../../src/features/archive/html.ts';
import { dialableAddress } from '../../src/features/contacts/dialable-address.ts';
import { fields, knownWords } from '../../src/features/doctor/cli/redact.ts';
import { documentOf } from '../../src/features/search/index/document.ts';
import { SearchedText, toPattern } from '../../src/features/search/index/searched-text.ts';
import { tokensOf } from '../../src/features/search/index/tokens.ts';
import { sequenceOf } from '../../src/features/search/query/expression.ts';
import { steepStep } from '../support/processor-time.ts';

const SIZES = [1000, 10_000, 100_000];
const repeated = (text: string, units: number): string => text.repeat(Math.ceil(units / text.length)).slice(0, units);

/** Parts that make a stranger's text expensive. */
const PARTS = {
  'marks on Cyrillic': 'а\u0301',
  'marks of alternating classes': '\u0301\u0323',
  dots: '.',
  tabs: '\t',
  placeholders: '\uFFFC',
  'placeholders on lines': '\uFFFC\n',
  'invisible characters': '\u202E',
  letters: 'aB',
  'Chinese with marks': '漢\u0301',
  emoji: '👩\u200D',
  'at signs': 'a@',
  'ligatures of eighteen letters': '\uFDFA',
} as const;

function message(body: string): Message {
  return {
    id: '1',
    conversation_id: 'any;-;+15550100',
    sender: '+15550100',
    guid: '',
    status: 'delivered',
    body,
    timestamp: '2026-01-01T00:00:00Z',
    is_from_me: false,
    attachments: [],
  };
}

const sought = sequenceOf({ kind: 'phrase', text: 'ab а\u0301 漢 a' });

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'indexed for search': (text) => documentOf(message(text)),
  'looked through by a search': (text) => sought && new SearchedText(text).highlights(toPattern(sought)),
  'compared with a sent text': (text) => contentHash({ body: text }),
  'the name of a file': (text) => safeFileName(text),
  'a name to compare': (text) => folded(text),
  'a line of a terminal': (text) => oneLine(text),
  'measured for a table': columnsOf,
  'shown for a decision': visible,
  'a key of an address': (text) => dialableAddress(text, '1'),
  'masked for a report': knownWords,
  'the url of a webhook': (text) => checkBody(webhookBody, { url: `http://${text}` }),
  'a link of a page': (text) => linked(`https://${text}`),
  'a field of a report': (text) => fields(text, { a: /b/ }),
};

describe('a text of a stranger', () => {
  test.each(Object.keys(READERS))(
    'that is %s costs no more than in proportion to its length',
    (reader) => {
      const read = READERS[reader] ?? never();
      const steep = Object.entries(PARTS).flatMap(([name, part]) => {
        const measured = () =>
          steepStep((units) => {
            // With letters around it: a pile of marks needs a base, and a run at the end of a text is a special case.
            const text = Buffer.from(`я${repeated(part, units)}=x`).toString();
            return () => read(text);
          }, SIZES);
        // A steep step is steep every time; a garbage collection in the middle is not.
        const step = measured() && measured() && measured();
        return step === undefined ? [] : [`${name}: ${step}`];
      });
      expect(steep).toEqual([]);
    },
    60_000,
  );
});

test('marks on one letter of any script cost a search no more than in proportion to their number', () => {
  const steep = ['а', 'a', 'ا', 'ש', 'ส', '가'].flatMap((base) =>
    ['\u0301', '\u0301\u0323', '\u064B\u0650', '\u05B0\u05C1'].flatMap((marks) => {
      const step = steepStep((units) => {
        const text = base + repeated(marks, units);
        return () => tokensOf(text);
      }, SIZES);
      return step === undefined ? [] : [`${base} with ${marks}: ${step}`];
    }),
  );
  expect(steep).toEqual([]);
}, 60_000);

function never(): never {
  throw new Error('there is no such reader');
}
