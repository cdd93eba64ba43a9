import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { answersOf } from '../support/recorded-client/client.ts';
import { differences } from '../support/recorded-client/differences.ts';

/** One line per step of the script: its name, and what commit c70b27f answered. */
const RECORDED = new URL('../support/recorded-client/answers-0.1.jsonl', import.meta.url);
/**
 * Path of main.js in a build of that version, whose answers are then recorded instead of compared. Running it twice
 * gives the same bytes.
 */
const RECORD_FROM = process.env.RECORD_FROM;
/** Long enough for that version to publish an incomplete row. */
const HALF_WRITTEN_MS = 1500;

/** A change that a client of the recorded version sees, and the differences that it explains. */
interface Named {
  readonly change: string;
  readonly explains: RegExp;
}

const NAMED: readonly Named[] = [
  {
    change: 'mistakes name members and parameters in backticks',
    explains: / \/ body \/ .*: "The (?:parameter )?\w+ .*" → "(?:The parameter )?`\w+` .*"$/,
  },
  {
    change: 'unsent messages are not edited, and have no files',
    explains:
      /\b1[01]\b.* \/ details \/ (edited_at|retracted_at):|\b11\b.*(\battachments \/ |\/attachments\/0).*picture\.jpg/,
  },
  {
    change: 'files of unsent messages and link previews are not served',
    explains: /^GET \/messages\/1[167]\/attachments\/0 \/ /,
  },
  {
    change: 'files of link previews are not attachments',
    explains:
      /\b1[67]\b.* \/ attachments \/ .*(preview|large)\.pluginPayloadAttachment|\b17\b.* \/ photo.jpg \/ n: absent → 1$/,
  },
  {
    change: 'the row of a link names the row of its text',
    explains: / \/ details \/ part_of: absent → \{"id":/,
  },
  {
    change: 'copies of messages to oneself are known ten minutes long',
    explains: /\b30\b.* \/ details \/ mirror: absent → true$/,
  },
  {
    change: 'what came long after it was written is late',
    explains: / \/ message\.received 44 \/ data \/ details \/ late: absent → true$/,
  },
  {
    change: 'details say what a message contains',
    explains:
      / \/ details \/ (sentence|part|parts|reply_to_part|reply_to_range|unsent_parts|link|app|poll|group_event|scheduled): absent → | \/ details \/ (attachments|reactions) \/ .*(guid|part): absent → /,
  },
  {
    change: 'reactions say which part they are on',
    explains: / \/ reaction\.(added|removed) \d+ \/ data \/ (part: absent → \d+|balloon: absent → true)$/,
  },
  {
    change: 'polls are polls',
    explains: / \/ details \/ kind: "app" → "poll"$/,
  },
  {
    change: 'reactions of apps and polls have details',
    explains: /reaction\.added \d+ \/ data \/ details: absent → \{.*"kind":"(app|poll_vote|poll_update)"/,
  },
  {
    change: 'what arrives after sleep has its conversation',
    explains: /arrivals \/ message\.received 44 \/ data \/ conversation_id: "" → "any;-;\+15550100"$/,
  },
  {
    change: 'attachments without a path are listed',
    explains: /details \/ attachments \/ (order: "" → "coming\.mov"|coming\.mov: absent → )/,
  },
  {
    change: 'attachments have a type although Messages stored none',
    explains: /details \/ attachments \/ notes\.txt \/ mime_type: null → "text\/plain"$/,
  },
  {
    change: 'an own row that was inserted as an incoming one is sent, not received',
    explains: /arrivals \/ (message\.received 45: .* → absent|message\.sent 45: absent → |order: .*message\.sent 45"$)/,
  },
  {
    change: 'a bare identifier of no conversation is refused before Messages is asked',
    explains: /^POST \/messages \{"recipient":"chat999"/,
  },
  {
    change: 'a send with a link is confirmed, and both rows have its origin',
    explains: /^send look at |message\.sent 4[89] \/ data \/ details \/ origin \/ /,
  },
  {
    change: 'a send beside its group has failed',
    explains: /^send beside the group \/ |message\.sent 50 \/ data \/ details \/ origin \/ /,
  },
  {
    change: 'a refusal says what is wrong with a file',
    explains: /"attachments":\["\/not\/there"\]\} \/ body \/ (detail|error): /,
  },
  {
    change: 'links are relative to the request',
    explains: / \/ link: "<\/api\/v1\/.*" → "<\?/,
  },
  {
    change: 'header lines are bounded',
    explains: /^GET \/health with 300 header lines \/ status: 200 → 431$/,
  },
  {
    change: 'MCP takes one call a request',
    explains: /^POST \/mcp with an array \/ status: 200 → 400$/,
  },
];

let found: readonly string[];

beforeAll(async () => {
  const isRecording = RECORD_FROM !== undefined;
  const answers = await answersOf({ program: RECORD_FROM, halfWrittenMs: isRecording ? HALF_WRITTEN_MS : 0 });
  if (isRecording) {
    const lines = Object.entries(answers).map((step) => `${JSON.stringify(step)}\n`);
    writeFileSync(RECORDED, lines.join(''));
  }
  const lines = readFileSync(RECORDED, 'utf8').trimEnd().split('\n');
  found = differences(Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, unknown])), answers);
}, 120_000);

test('a client of the recorded version sees no difference but the listed ones', () => {
  expect(found.filter((difference) => !NAMED.some(({ explains }) => explains.test(difference)))).toEqual([]);
});

describe('what a client of the recorded version sees', () => {
  test.each(NAMED)('$change', ({ explains }) => {
    expect(found.filter((difference) => explains.test(difference))).not.toEqual([]);
  });
});
