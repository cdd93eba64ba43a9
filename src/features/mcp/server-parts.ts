import type { Feature } from '../../core/feature.ts';
import type { CommandWords } from '../../core/model/command-words.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { Counters } from '../../core/runtime/counters.ts';
import type { LocalTime } from '../../core/tools/times.ts';
import type { Tool } from '../../core/tools/tool.ts';
import type { Flow } from './flow.ts';
import type { McpRequest } from './ports.ts';
import type { Subscribed } from './resources.ts';

export interface McpParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** How a person runs a command with this service, for the owner's problems. */
  readonly cli?: CommandWords | undefined;
  /** The features whose tools the server offers. */
  readonly features: readonly Pick<Feature, 'tools'>[];
  readonly counters: Counters;
  /** Returns the name of the time zone in which answers show times, such as `Europe/Berlin`. */
  readonly timeZone: () => string;
}

/** A request that is being answered. */
export interface RunningRequest extends Pick<McpRequest, 'caller' | 'requestId'> {
  /** Makes a streamed answer wait for a client that reads slowly. */
  readonly flow: Flow;
  /** True for `events/stream`. */
  readonly isStream: boolean;
  readonly subscribed: Subscribed;
}

export interface ServerParts extends Omit<McpParts, 'features' | 'timeZone'> {
  readonly request: RunningRequest;
  readonly era: 'legacy' | 'modern';
  readonly time: () => LocalTime;
  /** Aborted when the service ends. */
  readonly ending: AbortSignal;
  /** Aborted when the key is revoked or expires. */
  readonly keyEnd: AbortSignal;
  /** The tools of features. */
  readonly tools: readonly Tool[];
}
