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

/** A change that a client of 0.1 sees, the sentences that announce it, and the differences that it explains. */
interface Named {
  readonly change: string;
  readonly upgrade: string;
  readonly changelog: string;
  readonly explains: RegExp;
}

const NAMED: readonly Named[] = [
  {
    change: 'mistakes name members and parameters in backticks',
    upgrade: 'Mistakes name members and parameters in backticks',
    changelog: 'Mistakes of a request name its members and parameters in backticks',
    explains: / \/ body \/ .*: "The (?:parameter )?\w+ .*" → "(?:The parameter )?`\w+` .*"$/,
  },
  {
    change: 'unsent messages are not edited, and have no files',
    upgrade: 'an unsent message has `retracted_at` and no `edited_at`',
    changelog: '**An unsent message has `retracted_at`, and `edited_at` is null.**',
    explains:
      /\b1[01]\b.* \/ details \/ (edited_at|retracted_at):|\b11\b.*(\battachments \/ |\/attachments\/0).*picture\.jpg/,
  },
  {
    change: 'files of unsent messages and link previews are not served',
    upgrade: 'Its files are not listed, and are 404.',
    changelog: 'Its files are no longer listed, and are 404.',
    explains: /^GET \/messages\/1[167]\/attachments\/0 \/ /,
  },
  {
    change: 'files of link previews are not attachments',
    upgrade: 'Files of link previews are not attachments, and are 404.',
    changelog: 'Files of link previews are no longer attachments.',
    explains:
      /\b1[67]\b.* \/ attachments \/ .*(preview|large)\.pluginPayloadAttachment|\b17\b.* \/ photo.jpg \/ n: absent → 1$/,
  },
  {
    change: 'the row of a link names the row of its text',
    upgrade: 'the row of a link that Messages wrote beside its text has `part_of`',
    changelog: 'the row of the link has `details.part_of`',
    explains: / \/ details \/ part_of: absent → \{"id":/,
  },
  {
    change: 'copies of messages to oneself are known ten minutes long',
    upgrade: '`mirror` marks copies of messages to yourself up to ten minutes apart',
    changelog: '`mirror` is true for copies up to ten minutes apart',
    explains: /\b30\b.* \/ details \/ mirror: absent → true$/,
  },
  {
    change: 'what came long after it was written is late',
    upgrade: 'In `details`, a message that arrived more than 30 minutes after it was written has `late`.',
    changelog: 'messages that arrived more than 30 minutes after they were written',
    explains: / \/ message\.received 44 \/ data \/ details \/ late: absent → true$/,
  },
  {
    change: 'details say what a message contains',
    upgrade: '`details` has new members for what a message contains',
    changelog: '**`include=details` says [what a row contains](docs/content.md)**',
    explains:
      / \/ details \/ (sentence|part|parts|reply_to_part|reply_to_range|unsent_parts|link|app|poll|group_event|scheduled): absent → | \/ details \/ (attachments|reactions) \/ .*(guid|part): absent → /,
  },
  {
    change: 'polls are polls',
    upgrade: 'A poll has the `kind` `poll`',
    changelog: '**A poll has the `kind` `poll`.**',
    explains: / \/ details \/ kind: "app" → "poll"$/,
  },
  {
    change: 'reactions of apps and polls have details',
    upgrade: 'Reaction events with `include=details` have `data.details.kind`',
    changelog: 'Events of apps and polls have `details.kind`',
    explains: /reaction\.added \d+ \/ data \/ details: absent → \{.*"kind":"(app|poll_vote|poll_update)"/,
  },
  {
    change: 'what arrives after sleep has its conversation',
    upgrade: 'A message that arrives after sleep waits up to 2 s for its conversation',
    changelog: '**What arrives when the Mac wakes waits for its conversation**',
    explains: /arrivals \/ message\.received 44 \/ data \/ conversation_id: "" → "any;-;\+15550100"$/,
  },
  {
    change: 'attachments without a path are listed',
    upgrade: 'Attachments whose path Messages has not stored are in `details`',
    changelog: '**Attachments without a stored path are in `details`**',
    explains: /details \/ attachments \/ (order: "" → "coming\.mov"|coming\.mov: absent → )/,
  },
  {
    change: 'attachments have a type although Messages stored none',
    upgrade: "`mime_type` is that of Apple's UTI or of the file extension",
    changelog: "comes from Apple's UTI or the file extension",
    explains: /details \/ attachments \/ notes\.txt \/ mime_type: null → "text\/plain"$/,
  },
  {
    change: 'an own row that was inserted as an incoming one is sent, not received',
    upgrade: 'and is then `message.sent` and not `message.received`',
    changelog: '**What you sent is no longer reported as received**',
    explains: /arrivals \/ (message\.received 45: .* → absent|message\.sent 45: absent → |order: .*message\.sent 45"$)/,
  },
  {
    change: 'a bare identifier of no conversation is refused before Messages is asked',
    upgrade: 'only `chat123`, with no such conversation, is 400 `unknown_conversation`',
    changelog: 'only `chat123`, and no conversation, is 400 `unknown_conversation`.**',
    explains: /^POST \/messages \{"recipient":"chat999"/,
  },
  {
    change: 'a send with a link is confirmed, and both rows have its origin',
    upgrade: 'A send of a text that starts or ends with a link is 201',
    changelog: '**A send of a text with a link is 201, with the row of its text**',
    explains: /^send look at |message\.sent 4[89] \/ data \/ details \/ origin \/ /,
  },
  {
    change: 'a send beside its group has failed',
    upgrade: 'A send to a group for which Messages created a new conversation is 502 `misdirected`',
    changelog: 'new conversation beside its group is 502 `misdirected`.**',
    explains: /^send beside the group \/ |message\.sent 50 \/ data \/ details \/ origin \/ /,
  },
  {
    change: 'links are relative to the request',
    upgrade: '`Link` and `Location` are relative to the URL of the request',
    changelog: '**`Link` and `Location` are relative references**',
    explains: / \/ link: "<\/api\/v1\/.*" → "<\?/,
  },
  {
    change: 'header lines are bounded',
    upgrade: 'A request with more than 200 header lines is 431',
    changelog: '**A request with more than 200 header lines is 431**',
    explains: /^GET \/health with 300 header lines \/ status: 200 → 431$/,
  },
  {
    change: 'MCP takes one call a request',
    upgrade: 'A JSON-RPC array at `/mcp` is 400',
    changelog: '**A JSON-RPC array at `/mcp` is 400** (error −32600)',
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

test('a client of 0.1 sees no difference that the changelog and the upgrade guide do not name', () => {
  expect(found.filter((difference) => !NAMED.some(({ explains }) => explains.test(difference)))).toEqual([]);
});

describe('what a client of 0.1 sees', () => {
  test.each(NAMED)('$change', ({ upgrade, changelog, explains }) => {
    expect(found.filter((difference) => explains.test(difference))).not.toEqual([]);
    expect(isSaid(upgrade, 'docs/upgrade.md')).toBe(true);
    expect(isSaid(changelog, 'CHANGELOG.md')).toBe(true);
  });
});

/** Reports whether a document contains a sentence, wherever its lines break. */
function isSaid(sentence: string, path: string): boolean {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return text.replaceAll(/\s+/g, ' ').includes(sentence);
}
