import { hostname } from 'node:os';
import type { Connection } from '../../core/chatdb/connection.ts';
import { chatDbOwner } from '../../core/chatdb/owner.ts';
import type { Host } from '../../core/host.ts';
import type { Caller } from '../../core/model/caller.ts';
import type { ChangeEvent, LogEntry } from '../../core/model/event.ts';
import type { FleetSettings } from '../../core/model/fleet.ts';
import { includeSet, NO_INCLUDES } from '../../core/model/include.ts';
import type { MessageLog, RowFeed } from '../../core/model/ports/feed-ports.ts';
import type { BackendHealth } from '../../core/model/ports/reading-ports.ts';
import type { IdempotencyStore } from '../../core/model/ports/sending-ports.ts';
import type { Counters } from '../../core/runtime/counters.ts';
import { countedSend } from '../../core/runtime/send-counter.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import type { EventJson } from '../../core/schema/event-json.ts';
import { sendBody } from '../../core/schema/message-request.ts';
import { checkBody } from '../../core/schema/mistakes.ts';
import { type AgentParts, FleetAgent } from './agent/agent.ts';
import { fleetStore } from './agent/fleet-store.ts';
import { machineId } from './agent/machine-id.ts';

const DETAILS = includeSet(['details']);

interface FleetParts {
  readonly settings: FleetSettings;
  readonly host: Host;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly idempotency: IdempotencyStore;
  readonly feed: RowFeed;
  readonly messages: MessageLog;
  readonly owner: Caller;
  readonly json: EventJson;
  readonly counters: Counters;
  readonly health: () => BackendHealth;
}

/**
 * Creates the agent that connects this Mac with a fleet. This module is loaded only if the configuration has a fleet.
 */
export function openFleet(parts: FleetParts): FleetAgent {
  const { settings, host, state, connection, idempotency, feed, messages, owner, json, counters, health } = parts;
  const { clock, log, version } = host;
  const owned = chatDbOwner(connection);
  return new FleetAgent({
    settings,
    version,
    feed,
    messages,
    health,
    clock,
    log,
    checkSend,
    store: fleetStore(state),
    reader: owner.reader,
    attachments: owner.attachments,
    sender: {
      attachmentMistakes: (paths) => owner.sender.attachmentMistakes(paths),
      send: (request) => countedSend(owner.sender.send(request), counters),
    },
    // Leaves the generation out, so that the JSON has no offset. Hubs add their own, because an offset of this Mac
    // would mean nothing to their clients.
    json: (entry) => withEditDate(json, { ...entry, generation: undefined }),
    isKept: (key) => idempotency.find({ kind: 'client', key }, clock.now()) !== undefined,
    addresses: () => owned.addresses(),
    machine: async () => {
      const id = await machineId(host.run);
      return id === undefined ? undefined : { id, name: hostname() };
    },
    rowOfGuid: (guid) => connection.read((snapshot) => snapshot.rowIdOf(guid)),
  });
}

/** Returns the JSON of an event. For an edited or unsent message, adds `edited_at`, the time of that change. */
async function withEditDate(json: EventJson, entry: LogEntry): Promise<string> {
  const text = await json(entry, NO_INCLUDES);
  const { event } = entry;
  if (event.type !== 'message.updated' || !event.changes.some((name) => name === 'edited' || name === 'unsent')) {
    return text;
  }
  const { details } = (JSON.parse(await json(entry, DETAILS)) as Extract<ChangeEvent, { type: 'message.updated' }>)
    .data;
  const at = details?.retracted_at ?? details?.edited_at;
  return at ? `${text.slice(0, -1)},"edited_at":"${at}"}` : text;
}

/**
 * Checks a send as `POST /messages` does. Refuses all members except `recipient`, `body` and `attachments`, because a
 * hub can send no others.
 */
function checkSend(request: unknown): ReturnType<AgentParts['checkSend']> {
  const checked = checkBody(sendBody, request);
  if (!checked.ok) return checked;
  const { recipient, body, attachments = [], ...given } = checked.value;
  const refused = Object.entries(given).filter(([, value]) => value !== undefined);
  if (refused.length === 0) return { ok: true, value: { recipient, body, attachments } };
  const mistakes = refused.map(([name]) => ({
    pointer: `/${name}`,
    message: `${name} cannot be used through a hub.`,
  }));
  return { ok: false, mistakes };
}
