import * as z from 'zod';
import { MAC_ID } from '../../../core/model/fleet.ts';

// The records that agents and hubs store at the broker or send through it. The broker does not check them, and any
// client with the right to write could have written them. So the reader checks every field.

const whole = z.int().min(0);
const id = z.string().max(100);

/** The newest message that a Mac has published to the fleet's stream of events. */
const lastPublished = z.object({
  stream: z.string(),
  /** Sequence number of the Mac's newest message in the stream; 0 if the stream has no message from this Mac. */
  sequence: whole,
  /** The row that the next event will name as its predecessor; 0 if there is none in this epoch. */
  row: whole,
  /**
   * The newest message about a change: the message's epoch and sequence number, and the number of the change as `row`.
   * Absent if the Mac publishes no changes.
   */
  changes: z.object({ epoch: id, row: whole, sequence: whole }).optional(),
});
export type LastPublished = z.output<typeof lastPublished>;

/**
 * The state of a Mac. The Mac writes it every ten seconds and after each change, so a fresh one also shows that the Mac
 * is present.
 */
export const macPresence = z.object({
  /** The version of Postern on the Mac. */
  version: id,
  /** Identifies the run of the agent: differs after each start. */
  instance: id,
  epoch: id,
  /** The newest row that the Mac has published to its own clients. */
  newestRow: z.int(),
  /** The newest row whose event the fleet's stream has acknowledged. */
  publishedRow: z.int(),
  /**
   * The newest message that the Mac has published to the fleet's stream. Undefined until the Mac has looked it up after
   * its start.
   */
  last: lastPublished.optional(),
  /** Phone numbers and e-mail addresses of the Mac's owner. */
  addresses: z.array(z.string()).readonly(),
  health: z.object({ connected: z.boolean(), message: z.string().nullable() }),
  /** When the Mac wrote the record, by the Mac's clock, Unix milliseconds. */
  atMs: z.int(),
  /** True if the Mac is shutting down properly. It then counts as away at once. */
  isLeaving: z.boolean(),
});
export type MacPresence = z.output<typeof macPresence>;

/** A send in the work queue of a Mac. */
export const sendOrder = z.object({
  /** The client's Idempotency-Key, or one that the hub made. */
  key: z.string().regex(/^[\x20-\x7e]{1,255}$/),
  /** Deadline in Unix milliseconds. After the deadline, the Mac refuses the send. */
  deadlineMs: z.int(),
  /** Body of `POST /messages` with unqualified ids. The hub has checked it, and the agent checks it again. */
  request: z.unknown(),
  requestId: z
    .string()
    .regex(/^[\w.-]{1,100}$/)
    .optional(),
});
export type SendOrder = z.output<typeof sendOrder>;

/** The outcome of a send at a Mac. */
export const sendOutcome = z.object({
  /**
   * `hashOfRequest` of the `request` in the `SendOrder`. A different request with the same key gets
   * `idempotency_key_reused`.
   */
  requestHash: z.string(),
  /** An unchecked `SendResult`. */
  reply: z.union([z.object({ problem: z.unknown() }), z.object({ result: z.unknown() })]),
});
export type SendOutcome = z.output<typeof sendOutcome>;

/** The record of the first use of an Idempotency-Key at any hub. */
export const sendClaim = z.object({
  /** The recipient as the sending Mac names it, unqualified. */
  recipient: z.string(),
  /** `hashOfRequest` of the client's request. A later request with the same key must have the same hash. */
  askedHash: z.string(),
});

const namedMachine = z.object({
  name: z.string().max(300),
  /**
   * When the machine first claimed the Mac's identity, or was refused. By the machine's own clock, Unix milliseconds.
   */
  sinceMs: z.int(),
});
/** A machine that uses the key of a Mac, with the name that people see. */
export type NamedMachine = z.output<typeof namedMachine>;

export const claimNames = z.object({
  holder: namedMachine,
  /** Another machine that tried to use the Mac's key and was refused. That machine wrote this entry itself. */
  refused: namedMachine.optional(),
});
export type ClaimNames = z.output<typeof claimNames>;

/**
 * A machine's request to join a fleet. `ask`: the machine requests the data that its files need. `stored`: the machine
 * has written the files.
 */
export const joinRequest = z.object({
  /** The public half of the key pair that the machine created. */
  key: z.string().regex(/^U[A-Z2-7]{55}$/),
  name: z.string().transform((name) => name.slice(0, 100)),
  step: z.enum(['ask', 'stored']),
});
export type JoinRequest = z.output<typeof joinRequest>;

/**
 * The answer to a `joinRequest`, from the operator's machine, where `postern fleet invite` runs. `isTaken` is true if
 * another machine has already used the token.
 */
export const joinAnswer = z.discriminatedUnion('isTaken', [
  z.object({ isTaken: z.literal(true) }),
  z.object({
    isTaken: z.literal(false),
    content: z.enum(['encrypted', 'metadata', 'plain']),
    contentKeys: z.string(),
  }),
]);

/**
 * The record of a pair of Macs (decision N6), stored under the id of the first Mac. `sinceMs` is when the operator made
 * the pair, Unix milliseconds.
 */
export const storedPair = z.object({ standby: z.string().regex(MAC_ID), sinceMs: z.int() });

/** The `LeaseRecord` of the hub that delivers to all webhooks of the fleet (decision N3). */
export const webhooksLease = z.object({
  holder: z.string(),
  fence: whole,
  version: whole,
  state: z.object({
    history: z.string(),
    webhooks: z.array(
      z.looseObject({
        id: z.uuid(),
        url: z.url(),
        events: z.array(z.string()),
        created_at: z.string(),
        headers: z.record(z.string(), z.string()),
        after: z.string(),
        held: z.looseObject({ id: z.string(), row_id: z.int(), attempts: z.int() }).nullable(),
      }),
    ),
  }),
});

/**
 * A problem that a Mac sends to a hub through the broker. It has all members of the Mac's error, so that the hub can
 * answer as the Mac would.
 */
export const problemMessage = z.object({
  status: z.int(),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  mistakes: z
    .array(z.object({ pointer: z.string(), message: z.string() }))
    .readonly()
    .optional(),
  extra: z.record(z.string(), z.unknown()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
});
export type ProblemMessage = z.output<typeof problemMessage>;
