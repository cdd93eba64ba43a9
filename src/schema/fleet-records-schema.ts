import * as z from 'zod';
import { MAC_ID } from '../domain/fleet.ts';

// The records that agents and hubs store at the broker or send through it. Any client with the right to write may have
// written them, so every field is checked.

const whole = z.int().min(0);
const id = z.string().max(100);

/** A Mac's newest message in the stream. */
const lastPublished = z.object({
  stream: z.string(),
  /** The sequence number of the message; 0 if the stream has no message from this Mac. */
  sequence: whole,
  /** The row that the next event will name as its predecessor; 0 if there is none in this epoch. */
  row: whole,
  /** The chain of changes; absent if the Mac publishes none. */
  changes: z.object({ epoch: id, row: whole, sequence: whole }).optional(),
});
export type LastPublished = z.output<typeof lastPublished>;

/** The presence of a Mac. The Mac writes it every ten seconds and after each change. */
export const macPresence = z.object({
  /** The version of Postern. */
  version: id,
  /** Differs for each run of the agent. */
  instance: id,
  epoch: id,
  /** The newest row that the Mac has published to its own clients. */
  newestRow: z.int(),
  /** The newest row that the stream has acknowledged. */
  publishedRow: z.int(),
  /** Undefined until the Mac has read it from the stream. */
  last: lastPublished.optional(),
  /** Numbers and addresses of the Mac's owner. */
  addresses: z.array(z.string()).readonly(),
  health: z.object({ connected: z.boolean(), message: z.string().nullable() }),
  /** The Mac's clock, Unix milliseconds. */
  atMs: z.int(),
  /** True if the Mac is shutting down properly. It then counts as away at once. */
  isLeaving: z.boolean(),
});
export type MacPresence = z.output<typeof macPresence>;

/** A send in the work queue of a Mac. */
export const sendOrder = z.object({
  /** The client's Idempotency-Key, or one that the hub made. */
  key: z.string().regex(/^[\x20-\x7e]{1,255}$/),
  /** Unix milliseconds. After this time the Mac refuses the send. */
  deadlineMs: z.int(),
  /** Body of `POST /messages`, unqualified. The hub has checked it, and the agent checks it again. */
  request: z.unknown(),
  requestId: z
    .string()
    .regex(/^[\w.-]{1,100}$/)
    .optional(),
});
export type SendOrder = z.output<typeof sendOrder>;

/** The outcome of a send at a Mac. */
export const sendOutcome = z.object({
  /** `hashOfRequest` of the order. A different request with the same key gets `idempotency_key_reused`. */
  requestHash: z.string(),
  /** An unchecked `SendResult`. */
  reply: z.union([z.object({ problem: z.unknown() }), z.object({ result: z.unknown() })]),
});
export type SendOutcome = z.output<typeof sendOutcome>;

/** The record of the first use of an Idempotency-Key at any hub. */
export const sendClaim = z.object({
  /** The recipient as the Mac names it. */
  recipient: z.string(),
  /** `hashOfRequest` of what the client asked for. */
  askedHash: z.string(),
});

const namedMachine = z.object({
  name: z.string().max(300),
  /** The machine's own clock, Unix milliseconds. */
  sinceMs: z.int(),
});
/** A machine that uses the key of a Mac, with the name that people see. */
export type NamedMachine = z.output<typeof namedMachine>;

export const claimNames = z.object({
  holder: namedMachine,
  /** The machine that was refused; it wrote this entry itself. */
  refused: namedMachine.optional(),
});
export type ClaimNames = z.output<typeof claimNames>;

/** A machine's request to join a fleet: `ask` for its files, `stored` once it has written them. */
export const joinRequest = z.object({
  /** The public half of the key pair that the machine created. */
  key: z.string().regex(/^U[A-Z2-7]{55}$/),
  name: z.string().transform((name) => name.slice(0, 100)),
  step: z.enum(['ask', 'stored']),
});
export type JoinRequest = z.output<typeof joinRequest>;

/** The desk's answer. `isTaken`: another machine has already used the token. */
export const joinAnswer = z.discriminatedUnion('isTaken', [
  z.object({ isTaken: z.literal(true) }),
  z.object({
    isTaken: z.literal(false),
    content: z.enum(['encrypted', 'metadata', 'plain']),
    contentKeys: z.string(),
  }),
]);

/** The entry of a pair, stored under its first Mac. */
export const storedPair = z.object({ standby: z.string().regex(MAC_ID), sinceMs: z.int() });

/** The lease for delivering to webhooks, as a `LeaseRecord`. */
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

/** A failure in the form that crosses the broker, so that a hub answers like the Mac. */
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
