import { isPosternError, PosternClient } from '../src/client/postern-client.ts';
import type { Config } from '../src/core/config/config.ts';
import { trustedSocketOf, urlOf } from '../src/core/config/service-address.ts';
import { portListeners } from '../src/core/mac/port-listeners.ts';
import { pause } from '../src/core/runtime/clock.ts';
import type { JobState, Launchd } from './launchd.ts';
import type { Machine } from './machine.ts';
import { backgroundSwitch } from './settings-panes.ts';

/** The part of the configuration that the installer uses. */
export type AgentConfig = Pick<Config, 'dir' | 'server' | 'auth'> & {
  readonly backend: Pick<Config['backend'], 'associatedRows'>;
};

const HEALTH_LIMIT_MS = 40_000;
const HEALTH_POLL_MS = 1_000;
const ANSWER_LIMIT_MS = 5_000;

/**
 * The installed agent. Requests go only to the agent's Unix socket, because another program may be listening on the
 * agent's port.
 */
export class Agent {
  /** Undefined if there is no trustworthy socket; `reason` says why. */
  readonly client: PosternClient | undefined;
  readonly reason: string | undefined;
  readonly #server: AgentConfig['server'];

  constructor(config: AgentConfig) {
    const socket = trustedSocketOf(config);
    this.#server = config.server;
    this.reason = 'reason' in socket ? socket.reason : undefined;
    this.client =
      'path' in socket
        ? new PosternClient({ socketPath: socket.path, key: config.auth.apiKey, timeoutMs: ANSWER_LIMIT_MS })
        : undefined;
  }

  /**
   * The agent's URL as shown to the user. With port 0, this is a phrase instead, because the number of the port is not
   * known here.
   */
  get place(): string {
    return this.#server.port === 0 ? 'a free port (its log names the number)' : urlOf(this.#server);
  }

  /**
   * Waits at most `HEALTH_LIMIT_MS` until the agent answers. Returns null once it does, otherwise a sentence that says
   * what is wrong. An older version (`isOlder`) may have no trusted socket. For such a version, and for any agent
   * without a trusted socket, checks only that launchd's process listens on the port.
   */
  async healthTrouble(machine: Machine, launchd: Launchd, { isOlder = false } = {}): Promise<string | null> {
    const end = machine.clock.monotonic() + HEALTH_LIMIT_MS;
    for (;;) {
      const job = await launchd.state();
      const trouble = isOlder ? await this.#portTrouble(machine, job) : await this.#answerTrouble(machine, job);
      if (trouble === null) return null;
      if (job.kind === 'absent') {
        return `macOS does not let the agent run, because it is switched off. In System Settings, in ${await backgroundSwitch(machine.run)}, switch on Postern.`;
      }
      if (machine.clock.monotonic() >= end) {
        const last =
          job.kind === 'loaded' && job.lastExitCode !== null ? ` The agent ended with code ${job.lastExitCode}.` : '';
        return `${trouble}${last}`;
      }
      await pause(machine.clock, HEALTH_POLL_MS);
    }
  }

  /** Reports whether the agent can read chat.db; undefined if it does not say. */
  async canRead(): Promise<boolean | undefined> {
    try {
      return (await this.client?.health())?.backend.connected;
    } catch (error) {
      if (!isPosternError(error)) throw error;
      return undefined;
    }
  }

  async #answerTrouble(machine: Machine, job: JobState): Promise<string | null> {
    if (this.client === undefined) return this.#portTrouble(machine, job);
    try {
      await this.client.health();
      return null;
    } catch (error) {
      if (!isPosternError(error)) throw error;
      return error.status === 429 ? null : error.message;
    }
  }

  async #portTrouble(machine: Machine, job: JobState): Promise<string | null> {
    const { port } = this.#server;
    if (job.kind !== 'running') return 'The agent is not running.';
    if (port === 0) return null;
    const listeners = await portListeners(machine.run, port);
    return listeners.some(({ pid }) => pid === job.pid) ? null : `The agent is not listening on port ${port}.`;
  }
}
