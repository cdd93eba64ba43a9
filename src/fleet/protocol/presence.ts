import { AppError } from '../../domain/errors.ts';
import type { BackendHealth } from '../../domain/ports/reading.ts';
import { type Envelope, pack, unpack } from './envelope.ts';

/** A Mac's newest message in the stream. */
export interface LastPublished {
  readonly stream: string;
  /** 0 if the stream holds none. */
  readonly sequence: number;
  /** The row that the next event will name as the one before it; 0 for none of this epoch. */
  readonly row: number;
}

/** What a Mac says of itself in the bucket `macs`, every ten seconds and when it changes. */
export interface MacPresence {
  /** Of Postern. */
  readonly version: string;
  /** Another one after every start. */
  readonly instance: string;
  readonly epoch: string;
  /** Newest row that the Mac has published to its own clients. */
  readonly newestRow: number;
  /** Newest row that the stream has acknowledged: the difference is its lag. */
  readonly publishedRow: number;
  /** Undefined while the Mac is asking the stream; earlier versions omit it. */
  readonly last?: LastPublished | undefined;
  /** Numbers and addresses of the person whose Mac it is. */
  readonly addresses: readonly string[];
  readonly health: BackendHealth;
  /** Unix milliseconds, by the clock of the Mac. */
  readonly atMs: number;
  /** Said when it stops in good order: it is away at once. */
  readonly isLeaving: boolean;
}

const CONTEXT = ['presence'] as const;

export function packPresence(envelope: Envelope, mac: string, presence: MacPresence): Uint8Array {
  return pack(envelope, mac, CONTEXT, presence);
}

/** Throws AppError `fleet_content_unreadable` for what no agent of this version wrote. */
export function unpackPresence(envelope: Envelope, mac: string, packed: Uint8Array): MacPresence {
  const given = unpack(envelope, mac, CONTEXT, packed) as Partial<MacPresence> | null;
  const { health } = given ?? {};
  const isFine =
    [given?.version, given?.instance, given?.epoch].every((text) => typeof text === 'string' && text.length <= 100) &&
    [given?.newestRow, given?.publishedRow, given?.atMs].every(Number.isSafeInteger) &&
    Array.isArray(given?.addresses) &&
    given.addresses.every((address) => typeof address === 'string') &&
    isLastPublished(given.last) &&
    typeof health?.connected === 'boolean' &&
    (health.message === null || typeof health.message === 'string') &&
    typeof given.isLeaving === 'boolean';
  if (!isFine) throw new AppError('fleet_content_unreadable', 'The presence of a Mac cannot be read.', { status: 502 });
  return given as MacPresence;
}

function isLastPublished(last: Partial<LastPublished> | null | undefined): boolean {
  if (last === undefined) return true;
  return (
    typeof last?.stream === 'string' &&
    [last.sequence, last.row].every((n) => Number.isSafeInteger(n) && Number(n) >= 0)
  );
}
