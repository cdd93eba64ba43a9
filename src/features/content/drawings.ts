import type { DigitalTouch, Handwriting } from '../../client/content-types.ts';
import { isList, isoAtSeconds, present, type RowBudget, readKeyedArchive } from '../../core/chatdb/public.ts';
import { type ProtobufField, readProtobuf } from './protobuf.ts';

/** The fields of a Protocol Buffers message, by number. If several fields have one number, the last one counts. */
class Fields {
  readonly #fields: readonly ProtobufField[];
  readonly #budget: RowBudget;

  constructor(fields: readonly ProtobufField[], budget: RowBudget) {
    this.#fields = fields;
    this.#budget = budget;
  }

  number(number: number): number | undefined {
    const value = this.#fields.findLast((field) => field.number === number)?.value;
    return typeof value === 'number' ? value : undefined;
  }

  bytes(number: number): Buffer | undefined {
    const value = this.#fields.findLast((field) => field.number === number)?.value;
    return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : undefined;
  }

  /** Returns a number that is stored as a 32-bit float or as an integer. */
  real(number: number): number | undefined {
    const bytes = this.bytes(number);
    const value = bytes?.length === 4 ? bytes.readFloatLE(0) : this.number(number);
    return value !== undefined && Number.isFinite(value) ? value : undefined;
  }

  text(number: number): string | undefined {
    return this.#budget.shown(this.bytes(number)?.toString('utf8') || undefined);
  }

  message(number: number): Fields | undefined {
    const bytes = this.bytes(number);
    return bytes && messageOf(bytes, this.#budget);
  }
}

function messageOf(blob: Uint8Array, budget: RowBudget): Fields | undefined {
  const fields = readProtobuf(blob, budget);
  return fields && new Fields(fields, budget);
}

/**
 * Reads the size of a handwritten message and the number of its strokes. Skips the strokes, which Node cannot
 * decompress. Returns undefined for anything else.
 */
export function readHandwriting(blob: Uint8Array, budget: RowBudget): Handwriting | undefined {
  const message = messageOf(blob, budget);
  const drawing = message?.message(4);
  const frame = drawing?.bytes(3);
  const created = message?.bytes(2);
  const strokes = drawing?.number(4);
  if (frame?.length !== 8 || strokes === undefined || !Number.isSafeInteger(strokes)) return undefined;
  // Width and height are 16-bit integers with inverted sign bits.
  const [width = 0, height = 0] = [4, 6].map((at) => ((frame.readUInt16LE(at) ^ 0x8000) << 16) >> 16);
  const drawn = created?.length === 8 ? Number(created.readBigInt64LE(0)) / 1000 : undefined;
  return { ...present({ id: message?.text(3), drawn_at: isoAtSeconds(drawn) }), width, height, strokes };
}

const PHOTO = 2;
const VIDEO = 1;

/** Reads a Digital Touch message; undefined for anything else. */
export function readDigitalTouch(blob: Uint8Array, budget: RowBudget, isNested = false): DigitalTouch | undefined {
  const message = messageOf(blob, budget);
  const kind = message?.number(1);
  const payload = message?.message(3);
  if (message === undefined || kind === undefined || payload === undefined) return undefined;
  const touch = touchOf(kind, payload, isNested ? undefined : budget);
  const id = message.text(5);
  return touch && { ...touch, ...(id !== undefined && { id }) };
}

/**
 * Returns the touch of this kind from its payload; undefined if the payload is inconsistent. Without a budget, reads no
 * drawings on a photo.
 */
function touchOf(kind: number, payload: Fields, budget: RowBudget | undefined): DigitalTouch | undefined {
  switch (kind) {
    case 1:
      return { type: 'tap', count: (payload.bytes(2)?.length ?? 0) >> 1 };
    case 3:
      return heartbeat(payload);
    case 4:
      return sketch(payload);
    case 6:
      return media(payload, budget);
    case 7:
      return { type: 'kiss', count: (payload.bytes(1)?.length ?? 0) >> 1 };
    case 8:
      return { type: 'fireball', points: (payload.bytes(5)?.length ?? 0) >> 2, ...duration(payload.real(1)) };
    default:
      return { type: 'other' };
  }
}

/** Describes a heartbeat, or a heartbreak if the payload contains the time at which the heart breaks. */
function heartbeat(payload: Fields): DigitalTouch {
  const broken = payload.real(6) ?? 0;
  return {
    type: broken > 0 ? 'heartbreak' : 'heartbeat',
    bpm: payload.real(1) ?? 0,
    ...duration(payload.real(2)),
    ...(broken > 0 && { broken_at_s: broken }),
  };
}

/**
 * Describes a sketch. Counts the stored strokes, and ignores the number that the payload states, which may be wrong.
 */
function sketch(payload: Fields): DigitalTouch | undefined {
  const data = payload.bytes(2) ?? Buffer.alloc(0);
  let [strokes, points] = [0, 0];
  for (let at = 0; at < data.length; strokes += 1) {
    if (at + 4 > data.length) return undefined;
    const count = data.readUInt16LE(at + 2);
    at += 4 + 4 * count;
    points += count;
    if (at > data.length) return undefined;
  }
  return { type: 'sketch', strokes, points };
}

/** Describes a photo or a video. Drawings on a photo are only counted. */
function media(payload: Fields, budget: RowBudget | undefined): DigitalTouch {
  if (payload.number(4) === VIDEO) return { type: 'video' };
  if (payload.number(4) !== PHOTO) return { type: 'other' };
  const archived = budget && payload.bytes(2);
  const list = archived && readKeyedArchive(archived, budget);
  // The archive may list one drawing many times.
  const drawings = new Set(isList(list) ? list.filter((one) => one instanceof Uint8Array) : []);
  const overlays = budget === undefined ? [] : [...drawings].filter(() => budget.spend('overlays'));
  const strokes = overlays.reduce(
    (sum, one) => sum + (budget === undefined ? 0 : (readDigitalTouch(one, budget, true)?.strokes ?? 0)),
    0,
  );
  return {
    type: 'photo',
    ...(strokes > 0 && { drawing_strokes: strokes }),
    ...(overlays.length > 0 && { overlays: overlays.length }),
  };
}

function duration(seconds: number | undefined): { readonly duration_s?: number } {
  return seconds === undefined ? {} : { duration_s: seconds };
}
