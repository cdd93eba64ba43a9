import { randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core';
import { createUser } from '@nats-io/nkeys';
import { AppError } from '../../../core/model/errors.ts';
import { type FleetContent, MAC_ID } from '../../../core/model/fleet.ts';
import { connectOnce } from '../protocol/connect-once.ts';
import { agentKeys, Envelope, pack, unpack, unpackIf } from '../protocol/envelope.ts';
import { type JoinRequest, joinAnswer, joinRequest } from '../protocol/fleet-records-schema.ts';
import { inboxPrefix, JOINER, joinSubject } from '../protocol/layout.ts';

const PREFIX = 'postern-join:';
/**
 * Maximum size of a token's uncompressed JSON, in bytes. The largest part, the authority's PEM, takes a few thousand
 * bytes.
 */
const MAX_BYTES = 64 * 1024;
const ANSWER_MS = 5000;
/** Maximum length of a machine's name, in UTF-16 units. The machine's owner chose the name; a longer one is cut. */
const MAX_NAME = 100;

/**
 * The content of a token. While `postern fleet invite` is running on the operator's machine (the desk), one machine can
 * join the fleet as `mac` with the token.
 */
export interface Invitation {
  readonly mac: string;
  readonly servers: readonly string[];
  /**
   * The fleet's certificate authority as PEM; undefined if the servers have no certificates, or a public authority
   * signed them.
   */
  readonly authority: string | undefined;
  /** Private key of the broker's user that can only ask to join (`JOINER_RIGHTS`). */
  readonly seed: string;
  /** Key for the messages between the joining machine and the desk: 32 random bytes in base64. */
  readonly secret: string;
}

/** The fleet's `content` setting and content keys, which the operator's machine sends to a joining machine. */
export interface MemberContent {
  readonly content: FleetContent;
  /** Text of the joining machine's `content.key`; empty if `content` is `plain`. */
  readonly contentKeys: string;
}

export type JoiningMachine = Pick<JoinRequest, 'key' | 'name'>;

const REQUEST = ['join', 'request'] as const;

export function newSecret(): string {
  return randomBytes(32).toString('base64');
}

export function tokenOf(invitation: Invitation): string {
  return `${PREFIX}${deflateRawSync(JSON.stringify(invitation)).toString('base64url')}`;
}

/** Returns the content of a token. Throws AppError `token_unusable` if the text is not a complete token. */
export function readToken(text: string): Invitation {
  const [, packed] = /^postern-join:([\w-]+)$/.exec(text.trim()) ?? [];
  try {
    const inflated = inflateRawSync(Buffer.from(packed ?? '', 'base64url'), { maxOutputLength: MAX_BYTES });
    const given = JSON.parse(inflated.toString()) as Partial<Invitation>;
    const { mac = '', servers = [], authority = '', seed = '', secret = '' } = given;
    const isFine =
      MAC_ID.test(mac) &&
      servers.length > 0 &&
      servers.every((server) => /^(?:nats|tls):\/\//.test(server) && URL.canParse(server)) &&
      [authority, seed, secret].every((part) => typeof part === 'string');
    if (isFine) return { mac, servers, authority: authority === '' ? undefined : authority, seed, secret };
  } catch {
    // It is not a token.
  }
  throw new AppError('token_unusable', 'This is not a whole token.', {
    hint: `Copy the one line that "postern fleet invite" printed; it begins with ${PREFIX}.`,
  });
}

/** The steps of an invitation that the desk takes. */
interface InvitationSteps {
  /** Called once a machine can join. */
  readonly opened: () => void;
  /** Called once the machine has written its files; until then, the fleet is unchanged. */
  readonly store: (machine: JoiningMachine) => void;
}

/**
 * Waits until a machine joins with the invitation's token. Ignores machines without the token, and refuses a second
 * machine with the token. Resolves with the machine, or with undefined if `signal` aborts. Throws AppError
 * `broker_away` if the connection is lost, and any error of a step.
 */
export async function awaitJoining(
  connection: NatsConnection,
  invitation: Invitation,
  content: MemberContent,
  { opened, store }: InvitationSteps,
  signal: AbortSignal,
): Promise<JoiningMachine | undefined> {
  const { mac } = invitation;
  const envelope = envelopeOf(invitation);
  const requests = connection.subscribe(joinSubject(mac));
  const end = (): void => requests.unsubscribe();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  let first: string | undefined;
  try {
    await connection.flush().then(opened, end);
    for await (const request of requests) {
      const asked = unpackIf(joinRequest, envelope, mac, REQUEST, request.data);
      // Ignores a request that was not encrypted with the secret of this token.
      if (asked === undefined) continue;
      first ??= asked.key;
      const isTaken = asked.key !== first;
      const isStored = asked.step === 'stored' && !isTaken;
      if (isStored) store(asked);
      request.respond(pack(envelope, mac, answerTo(asked), { isTaken, ...(!isTaken && content) }));
      if (!isStored) continue;
      await connection.flush();
      return asked;
    }
  } finally {
    signal.removeEventListener('abort', end);
  }
  if (signal.aborted) return undefined;
  throw new AppError('broker_away', 'The connection to the servers was lost, and the invitation with it.', {
    hint: `Nothing was changed. Invite again: postern fleet invite ${mac}`,
  });
}

/**
 * Makes a key on this machine and joins the fleet with it. Calls `store` to write the received files, then asks the
 * operator's machine (the desk) to admit the key. Resolves with true if the desk confirms. Resolves with false if no
 * confirmation arrives: the desk may or may not have admitted the key. Throws `broker_away`, `invitation_ended` and
 * `invitation_taken`.
 */
export async function joinFleet(
  invitation: Invitation,
  name: string,
  store: (content: MemberContent & { readonly seed: string }) => void,
): Promise<boolean> {
  const { mac, servers, authority, seed } = invitation;
  const pair = createUser();
  const machine = { key: pair.getPublicKey(), name: name.slice(0, MAX_NAME) };
  const envelope = envelopeOf(invitation);
  const options = { servers, seed, ca: authority, name: JOINER, inboxPrefix: inboxPrefix(JOINER) };
  const connection = await connectOnce(options).catch((error: Error) => {
    throw new AppError('broker_away', `No server of the fleet can be used: ${error.message}.`, {
      hint: /authorization/i.test(error.message)
        ? 'The servers must first read users.conf again. "postern fleet invite" at the desk printed how.'
        : `Tried ${servers.join(', ')}. Does a firewall let this machine reach them?`,
      cause: error,
    });
  });
  const ask = async (step: JoinRequest['step']): Promise<MemberContent> => {
    const request: JoinRequest = { ...machine, step };
    const packed = pack(envelope, mac, REQUEST, request);
    const { data } = await connection.request(joinSubject(mac), packed, { timeout: ANSWER_MS });
    const answer = unpack(joinAnswer, envelope, mac, answerTo(request), data);
    if (answer.isTaken) {
      throw new AppError('invitation_taken', 'Another machine has used this token already.', {
        hint: `If that machine is not yours, end the invitation at the desk (Ctrl+C). Then run: postern fleet invite ${mac}`,
      });
    }
    return answer;
  };
  try {
    const { content, contentKeys } = await ask('ask').catch((error: unknown) => {
      throw error instanceof RequestError || error instanceof TimeoutError ? ended(mac, error) : error;
    });
    store({ content, contentKeys, seed: new TextDecoder().decode(pair.getSeed()) });
    return await ask('stored').then(
      () => true,
      () => false,
    );
  } finally {
    await connection.close();
  }
}

function ended(mac: string, cause: Error): AppError {
  return new AppError('invitation_ended', `No "postern fleet invite" is waiting for ${mac} with this token.`, {
    hint: `A token is valid once, for 15 minutes, while the command at the desk runs. Run there: postern fleet invite ${mac}`,
    cause,
  });
}

function envelopeOf({ secret }: Invitation): Envelope {
  return new Envelope(agentKeys(secret));
}

/**
 * Returns the encryption context of an answer. It contains the key of the machine that asked, so that no other machine
 * can use the answer.
 */
function answerTo({ key, step }: JoinRequest): readonly string[] {
  return ['join', 'answer', key, step];
}
