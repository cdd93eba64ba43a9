import type { Answer } from '../../../core/http/answer.ts';
import type { Exchange } from '../../../core/http/exchange.ts';
import type { Route } from '../../../core/http/route.ts';
import type { ServedRoute } from '../../../core/http/router.ts';
import { fleetProblem } from '../problems.ts';
import { Unanswered } from '../protocol/call.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { MacAnswer, PassedHeaders, Question } from '../protocol/requests.ts';
import { claimKey, claimSend, moveClaim } from './claims.ts';
import type { Macs } from './macs.ts';
import { answeredHeaders, askedHeaders, askedQuery } from './passed-headers.ts';

export interface ForwardParts {
  readonly macs: Macs;
  readonly connection: FleetConnection;
  /** The hub's own key. */
  readonly apiKey: string;
}

/** The most that a client without the hub's key keeps open at one Mac, which answers 64 requests at a time. */
const MAX_OPEN = 16;
const PATH = /^\/macs\/([a-z0-9-]{1,32})(?:\/at\/([a-z0-9-]{1,40}))?(\/.*)$/i;
/** The routes that lead to each Mac. */
export const PASS_ON: readonly Route[] = (['GET', 'POST', 'PATCH', 'DELETE'] as const).map((method) => ({
  ...{ method, path: '/macs/{mac}/*', isOutside: true, key: 'header', access: 'open' },
}));
/** The path of sends, as a Mac's router matches it. */
const SEND = /^\/api\/v1\/messages\/?$/i;
/** The path that needs no key at a Mac. */
const HEALTH = /^\/api\/v1\/health\/?$/i;
/** MCP takes only keys of its machine, and its calls have ids of that machine in their bodies. */
const MCP = /^\/mcp\/?$/i;
/** A stream of one Mac, which a hub does not pass on. */
const WEB_SOCKET = /^\/api\/v1\/ws\/?$/i;
/** The ids of rows, of limited keys, and UUIDs: only the machine that made them knows them. */
const OWN_ID = /^(?:\d{1,15}|[\da-f]{8}(?:(?:-[\da-f]{4}){3}-[\da-f]{12})?)$/i;
/** Every machine knows the conversations of its Mac. Their ids can be numbers, too. */
const CONVERSATION = /^\/api\/v1\/conversations\//i;
/** The parameters that hold an offset or a cursor, unless they ask for the beginning. */
const POSITIONS = ['after', 'before', 'cursor'] as const;
const BEGINNINGS: ReadonlySet<string | null> = new Set([null, '', '0']);

/** Recognises the paths that are passed on to a Mac. */
export function isPassedOn(path: string): boolean {
  return PATH.test(path);
}

/**
 * Returns the Mac, the machine if the path names one, and the path there. Names have no capitals, so case makes no
 * other.
 */
function targetOf({ path }: Exchange) {
  const [, member = '', wanted, rest = '/'] = PATH.exec(path) ?? [];
  return { member: member.toLowerCase(), wanted: wanted?.toLowerCase(), path: rest };
}

/** Returns the way through to each Mac: its whole API, as if it were asked there. */
export function forwardRoutes(parts: ForwardParts): readonly ServedRoute[] {
  const open = new Map<string, number>();
  const handler = (exchange: Exchange): Promise<Answer> => {
    if (!exchange.hasCaller) keepsOpen(open, exchange);
    return forward(parts, exchange);
  };
  return PASS_ON.map((route) => ({ route, handler }));
}

/**
 * Counts a request without the hub's key, by the key that it has for its Mac, until its answer has been read. Refuses
 * it if `MAX_OPEN` are open.
 */
function keepsOpen(open: Map<string, number>, exchange: Exchange): void {
  const who = `${targetOf(exchange).member} ${keyOf(exchange.request.headers)}`;
  const count = (by: number): number => (open.get(who) ?? 0) + by;
  if (count(1) > MAX_OPEN) throw fleetProblem('too_many_open');
  open.set(who, count(1));
  exchange.whenOver(() => {
    if (count(-1) > 0) open.set(who, count(-1));
    else open.delete(who);
  });
}

/** Returns the key that a request has for its Mac, however it is written; empty if it has none. */
function keyOf(headers: PassedHeaders): string {
  const stated = headers['x-api-key'] ?? headers.authorization ?? '';
  return String(stated)
    .replace(/^Bearer +/i, '')
    .trim();
}

async function forward(parts: ForwardParts, exchange: Exchange): Promise<Answer> {
  const { member, wanted, path } = targetOf(exchange);
  if (WEB_SOCKET.test(path)) throw fleetProblem('fleet_stream');
  const { method, hasCaller: isOwner, request } = exchange;
  const query = askedQuery(exchange.rawQuery, parts.apiKey);
  const target = query === '' ? path : `${path}?${query}`;
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0;
  const question: Question = {
    ...{ member, method, isOwner, path: target, signal: exchange.signal },
    headers: askedHeaders(request.headers, isOwner, parts.apiKey),
    body: hasBody ? exchange.arrivingBody() : undefined,
  };
  const key = exchange.header('idempotency-key');
  const isSend = method === 'POST' && SEND.test(path);
  const answer =
    isSend && key !== undefined
      ? await sendOnce(parts, question, wanted, key)
      : await passOn(parts, question, wanted, isSend);
  if (answer.status === 401 || HEALTH.test(path)) exchange.onKeyless?.();
  return clientAnswer(answer);
}

/**
 * Asks the machine that the path names, else the Mac's first machine that is present. The next one is asked if the
 * broker says that nobody got the request, or if nobody acknowledged one that only reads.
 */
async function passOn(
  parts: ForwardParts,
  question: Question,
  wanted: string | undefined,
  isSend: boolean,
): Promise<MacAnswer> {
  const { macs } = parts;
  const { member, method, path } = question;
  const { present } = await macs.machinesOf(member);
  const isBound = wanted === undefined && present.length > 0 && isOfOneMachine(path);
  const first = isBound ? await macs.firstOf(member) : undefined;
  for (const machine of wanted === undefined ? present : [wanted]) {
    if (isBound && machine !== first) {
      throw fleetProblem('other_machine', { mac: member, machine }, { extra: { mac: member, machine } });
    }
    try {
      return await macs.ask({ ...question, machine });
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      const isHarmless = error.why === 'nobody' || (error.why === 'silent' && method === 'GET');
      if (!isHarmless) throw fleetProblem(isSend ? 'send_outcome_unknown' : 'mac_silent', { mac: member });
      macs.lost(member, machine);
    }
  }
  throw macs.away(member, wanted);
}

/** Reports whether a target names what only one machine of a pair knows. `target` is percent-encoded UTF-8. */
function isOfOneMachine(target: string): boolean {
  const [path = ''] = target.split('?', 1);
  const hasOwnId = path.split('/').some((segment) => OWN_ID.test(decodeURIComponent(segment)));
  if (MCP.test(path) || (hasOwnId && !CONVERSATION.test(path))) return true;
  const parameters = new URLSearchParams(target.slice(path.length));
  return POSITIONS.some((name) => !BEGINNINGS.has(parameters.get(name)));
}

/**
 * Sends under an Idempotency-Key. The key belongs to one machine, which sends it at most once. Only if the broker says
 * that nobody got the very first request may the Mac's other machine have it.
 */
async function sendOnce(
  parts: ForwardParts,
  question: Question,
  wanted: string | undefined,
  idempotencyKey: string,
): Promise<MacAnswer> {
  const { macs, connection } = parts;
  const { member, isOwner, headers } = question;
  const { present, known } = await macs.machinesOf(member);
  const candidates = wanted === undefined ? present : [wanted];
  const chosen = candidates[0] ?? known[0];
  if (chosen === undefined) throw macs.away(member);
  const asker = isOwner ? '' : keyOf(headers);
  // A request without a key is nobody's, and no Mac sends for it. Its claim would be the owner's, who is ''.
  if (!isOwner && asker === '') return passOn(parts, question, wanted, true);
  const key = claimKey(member, asker, idempotencyKey);
  const claim = await claimSend(connection, key, chosen);
  const { machine } = claim;
  try {
    return await macs.ask({ ...question, machine });
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    if (error.why === 'nobody') macs.lost(member, machine);
    if (error.why !== 'nobody' || !claim.isNew) throw fleetProblem('send_outcome_unknown', { mac: member });
    const other = candidates.find((one) => one !== machine);
    if (!(await moveClaim(connection, key, claim, other))) throw fleetProblem('send_outcome_unknown', { mac: member });
    if (other === undefined) throw macs.away(member, wanted);
    return await passOn(parts, question, other, true);
  }
}

function clientAnswer({ status, headers, body, end, machine }: MacAnswer): Answer {
  const shown = answeredHeaders(status, headers, machine);
  if (status === 204 || status === 304) {
    end();
    return { status, headers: shown };
  }
  const length = headers['content-length'];
  const bytes = typeof length === 'string' && /^\d{1,15}$/.test(length) ? { bytes: Number(length) } : {};
  return { status, headers: shown, stream: { ...bytes, read: () => body, close: async () => end() } };
}
