import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Answers } from '../../src/features/fleet/agent/answers.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { envelopeOf, readMembership } from '../../src/features/fleet/protocol/membership.ts';
import { waitFor } from './eventually.ts';
import type { Fleet } from './fleet-fixture.ts';
import { collectingLog } from './log.ts';

/**
 * A machine of a Mac whose service is whatever the test says: the real answers to hubs, in front of any HTTP server.
 */
export class StandInMachine {
  readonly #connection: FleetConnection;
  readonly #answers: Answers;
  readonly #server: Server;

  private constructor(connection: FleetConnection, answers: Answers, server: Server) {
    this.#connection = connection;
    this.#answers = answers;
    this.#server = server;
  }

  static async start(
    fleet: Fleet,
    member: string,
    { machine = `${member}-a`, sinceMs = 1, handle }: { machine?: string; sinceMs?: number; handle: RequestListener },
  ): Promise<StandInMachine> {
    const server = createServer(handle).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const file = fleet.file(member);
    const clock = systemClock;
    const log = collectingLog();
    const connection = new FleetConnection(() => readMembership(file), { clock, log, name: `${member}.${machine}` });
    const answers = new Answers({
      ...{ member, machine, connection, clock, log },
      envelope: () => envelopeOf(readMembership(file)),
      serviceUrl: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ownerKey: 'owner-of-the-stand-in',
      report: () => ({
        name: machine,
        version: '1',
        sinceMs,
        atMs: clock.now(),
        row: 0,
        behind: 0,
        late: 0,
        problem: null,
      }),
    });
    connection.onConnect(() => answers.start());
    connection.onDisconnect(() => answers.stop());
    connection.start();
    await waitFor(() => connection.isConnected);
    return new StandInMachine(connection, answers, server);
  }

  async stop(): Promise<void> {
    this.#answers.stop();
    await this.#connection.close();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
