import type { Answer } from '../../../core/http/answer.ts';
import { conversationQuery } from '../../../core/http/conversations/schema.ts';
import type { Exchange } from '../../../core/http/exchange.ts';
import { invalidRequest, problem } from '../../../core/model/problems.ts';
import { isRecord } from '../../../core/model/record.ts';
import { pageLink } from '../../../core/schema/page-link.ts';
import { readQuery } from '../../../core/schema/query-parameters.ts';
import { parsedJson } from '../protocol/envelope.ts';
import type { MacAnswer } from '../protocol/requests.ts';
import type { Macs } from './macs.ts';

/** A Mac that needs longer is named in `Postern-Partial` instead. */
const WITHIN_MS = 500;
/** The most conversations that are asked of each Mac for one page: as many as the page ends after. */
const MAX_ASKED = 1000;
/** The most that a Mac gives at once. */
const PAGE = 200;
/** The most bytes of one page. A page of 200 conversations in groups of 32 people has about 400 kB. */
const MAX_PAGE_BYTES = 4_000_000;

const TOO_FAR = `A hub lists the newest ${MAX_ASKED.toLocaleString('en')} conversations: \`offset\` and \`limit\` together. For older ones, ask each Mac at /macs/ID/api/v1/conversations.`;

type Row = Readonly<Record<string, unknown>>;

/** Returns the conversations of all Macs, each with its `mac`, the newest first. Names the Macs that did not answer. */
export async function mergedConversations(macs: Macs, exchange: Pick<Exchange, 'query'>): Promise<Answer> {
  const { limit, offset, cursor = '' } = readQuery(conversationQuery, exchange.query);
  if (cursor !== '') throw problem('invalid_cursor');
  const end = offset + limit;
  if (end > MAX_ASKED) throw invalidRequest([{ pointer: '?offset', message: TOO_FAR }]);
  macs.assertBroker();
  const asked = new URLSearchParams(exchange.query);
  for (const name of ['limit', 'offset', 'cursor']) asked.delete(name);
  const missing: string[] = [];
  const lists = await Promise.all(
    macs.ids.map(async (mac) => {
      const rows = await conversationsOf(macs, mac, end, asked);
      if (rows === undefined) missing.push(mac);
      return rows ?? [];
    }),
  );
  const all = lists.flat().sort((one, other) => newestOf(other).localeCompare(newestOf(one)));
  const body = all.slice(offset, end);
  // As at a Mac: a full page may have another after it.
  const link = body.length === limit && { Link: pageLink(conversationQuery, exchange.query, { offset: end }) };
  return {
    status: 200,
    body,
    headers: { ...link, ...(missing.length > 0 && { 'Postern-Partial': missing.join(', ') }) },
  };
}

/** Returns undefined if the Mac does not answer in time, or with something else. */
async function conversationsOf(
  macs: Macs,
  mac: string,
  limit: number,
  asked: URLSearchParams,
): Promise<readonly Row[] | undefined> {
  const [machine] = (await macs.machinesOf(mac)).present;
  if (machine === undefined) return undefined;
  const signal = AbortSignal.timeout(WITHIN_MS);
  const rows: Row[] = [];
  try {
    while (rows.length < limit) {
      const count = Math.min(limit - rows.length, PAGE);
      const query = new URLSearchParams([...asked, ['limit', String(count)], ['offset', String(rows.length)]]);
      const path = `/api/v1/conversations?${query.toString()}`;
      const head = { method: 'GET', path, headers: {}, isOwner: true };
      const answer = await macs.ask({ ...head, member: mac, machine, signal });
      const found = await rowsIn(answer);
      if (found === undefined || found.length > count) return undefined;
      rows.push(...found.map((row) => ({ ...row, mac })));
      if (found.length < count) break;
    }
    return rows;
  } catch {
    return undefined;
  }
}

async function rowsIn({ status, body }: MacAnswer): Promise<readonly Row[] | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_PAGE_BYTES) return undefined;
    chunks.push(chunk);
  }
  const found = parsedJson(Buffer.concat(chunks));
  return status === 200 && Array.isArray(found) ? found.filter(isRecord) : undefined;
}

function newestOf({ last_message_at: at }: Row): string {
  // Cut to the length of a date, because comparing megabytes again and again would hold up the hub.
  return typeof at === 'string' ? at.slice(0, 30) : '';
}
