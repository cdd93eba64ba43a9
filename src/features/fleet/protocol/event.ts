import type { Marks } from '../../../core/model/narrowing.ts';
import { isRecord } from '../../../core/model/record.ts';
import { type Envelope, parsedJson, unreadable } from './envelope.ts';
import { MACHINE, memberOfSubject } from './subjects.ts';

/** Facts of a row besides its content, by which readers skip it. Hidden rows are not published. */
export type EventMarks = Omit<Marks, 'isHidden'>;

/** An event in the stream, opened. */
export interface FleetEvent {
  /** The event as the Mac's API writes it, without offset. Ids of messages have the form `g<guid>`. */
  readonly event: EventBody;
  /** The machine that published it. */
  readonly machine: string;
  /** Row id in that machine's chat.db. */
  readonly row: number;
  /** When that machine published it, in Unix milliseconds of its clock. */
  readonly atMs: number;
  readonly marks?: EventMarks | undefined;
}

/** The members that every event has. The rest is the Mac's, and unchecked. */
export interface EventBody {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

export function sealEvent(envelope: Envelope, subject: string, event: FleetEvent): Uint8Array {
  return envelope.sealJson(memberOfSubject(subject), subject, event);
}

/** Throws AppError `fleet_content_unreadable` unless the subject's member sealed an event for this subject. */
export function openEvent(envelope: Envelope, subject: string, sealed: Uint8Array): FleetEvent {
  const read = parsedJson(envelope.open(memberOfSubject(subject), subject, sealed));
  if (isFleetEvent(read)) return { ...read, marks: marksOf(read.marks) };
  throw unreadable('it does not have the expected members');
}

/** Returns the id that every machine of a member, and every hub, has for a message. */
export function idOfGuid(guid: string): string {
  return `g${guid}`;
}

function isFleetEvent(given: unknown): given is FleetEvent {
  if (!isRecord(given)) return false;
  const { event, machine, row, atMs } = given;
  return (
    isRecord(event) &&
    typeof event.type === 'string' &&
    isRecord(event.data) &&
    typeof machine === 'string' &&
    MACHINE.test(machine) &&
    Number.isSafeInteger(row) &&
    Number.isSafeInteger(atMs)
  );
}

/** Keeps the marks that have the expected types. */
function marksOf(given: unknown): EventMarks | undefined {
  if (!isRecord(given)) return undefined;
  const { ageS, isJunk, isFiltered, otherIds } = given;
  return {
    ...(typeof ageS === 'number' && { ageS }),
    ...(isJunk === true && { isJunk }),
    ...(isFiltered === true && { isFiltered }),
    ...(Array.isArray(otherIds) && { otherIds: otherIds.filter((id) => typeof id === 'string') }),
  };
}
