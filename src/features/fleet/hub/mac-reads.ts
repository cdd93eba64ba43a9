import { type AppError, isAppError } from '../../../core/model/errors.ts';
import { idOfGuid, type QualifiedId } from '../../../core/model/fleet.ts';
import { problem } from '../../../core/model/problems.ts';
import {
  FLEET_READS,
  type FleetAnswer,
  type FleetOperation,
  type FleetRequest,
} from '../protocol/fleet-reads-schema.ts';
import { ask, UNANSWERED } from '../protocol/requests.ts';
import type { HubParts } from './hub-parts.ts';

export interface MacReadsParts extends Pick<HubParts, 'connection' | 'envelope' | 'macs' | 'clock'> {
  /**
   * Returns the guid of a published row; undefined if this hub does not know the guid. Needed to ask the other Mac of a
   * pair, which can find the message only by its guid.
   */
  readonly guidOfRow: (mac: string, row: number) => string | undefined;
}

/** Time limits for an answer, in milliseconds. An attachment may have to be converted first. */
const LIMIT_MS = { attachment: 30_000, others: 10_000 };
/** Time limit for a Mac that did not answer its last request. */
const SUSPECT_MS = 500;
/** Time limit for a Mac of a pair, except for attachments. Short, because the pair's other Mac can answer instead. */
const PAIRED_MS = 3000;

/** A Mac to ask for an object, and the id by which that Mac knows the object. */
export interface ReadPlace {
  readonly mac: string;
  readonly id: string;
}

/**
 * Asks Macs and checks their answers. The ids in an answer are those of the Mac, not of the hub's clients. A request
 * fails immediately while no agent of the Mac is connected.
 */
export class MacReads {
  readonly #parts: MacReadsParts;
  /**
   * Macs that did not answer their last request. Until such a Mac answers again, each request waits for it for only
   * `SUSPECT_MS`.
   */
  readonly #suspects = new Set<string>();

  constructor(parts: MacReadsParts) {
    this.#parts = parts;
  }

  /** Reports whether the fleet has a Mac with this id. Throws `broker_away` or `hub_filling` while that is unknown. */
  isKnown(mac: string): boolean {
    this.#parts.macs.assertLoaded();
    return this.#parts.macs.macsOf(mac).length > 0;
  }

  /**
   * Returns the Macs that can answer for an id, in the order in which to ask them. A row id is valid on only one Mac,
   * so the other Mac of a pair is asked by the row's guid.
   */
  placesOf({ mac, id }: QualifiedId): readonly ReadPlace[] {
    const { macs, guidOfRow } = this.#parts;
    const known = macs.macsOf(mac);
    if (!macs.nameOf(mac).isPair) return [{ mac, id }];
    const row = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined;
    const guid = row === undefined ? undefined : guidOfRow(mac, row);
    const present = known.filter((one) => !macs.isAway(one));
    const places = (present.length === 0 ? known : present).map((one) => one.mac);
    if (row === undefined) return places.map((place) => ({ mac: place, id }));
    const others = places.filter((place) => place !== mac);
    return [{ mac, id }, ...(guid === undefined ? [] : others.map((place) => ({ mac: place, id: idOfGuid(guid) })))];
  }

  /**
   * Asks the Macs in turn until one has the object. Returns undefined if all answered and none has it. If some Mac
   * could not be asked and no other Mac has the object, throws the first failure.
   */
  async first<Answer>(
    places: readonly ReadPlace[],
    ask: (place: ReadPlace) => Promise<Answer | null | undefined>,
  ): Promise<Answer | undefined> {
    let failure: AppError | undefined;
    for (const place of places) {
      try {
        const answer = await ask(place);
        if (answer !== undefined && answer !== null) return answer;
      } catch (error) {
        if (!isAppError(error) || error.code === 'broker_away') throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  /**
   * Returns the checked answer of one Mac. Throws `mac_away`, `mac_answer_invalid`, `broker_away`,
   * `fleet_content_unreadable`, or whatever problem the Mac itself reports.
   */
  async ask<Name extends FleetOperation>(
    mac: string,
    operation: Name,
    request: FleetRequest<Name>,
  ): Promise<FleetAnswer<Name>> {
    const { connection, envelope, clock, macs } = this.#parts;
    const isQuick = macs.nameOf(mac).isPair && operation !== 'attachment';
    const limitMs = isQuick ? PAIRED_MS : operation === 'attachment' ? LIMIT_MS.attachment : LIMIT_MS.others;
    const timeoutMs = this.#suspects.has(mac) ? SUSPECT_MS : limitMs;
    let answer: unknown;
    try {
      answer = await ask(connection, envelope, clock, { mac, operation, request, timeoutMs });
      this.#suspects.delete(mac);
    } catch (error) {
      if ((error as Error).cause === UNANSWERED) this.#suspects.add(mac);
      else this.#suspects.delete(mac);
      throw error;
    }
    const read = FLEET_READS[operation].answer.safeParse(answer);
    if (!read.success) throw problem('mac_answer_invalid');
    return read.data as FleetAnswer<Name>;
  }
}
