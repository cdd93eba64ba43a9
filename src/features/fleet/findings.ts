import { X509Certificate } from 'node:crypto';
import { quoted } from '../../core/model/command-words.ts';
import { isAppError } from '../../core/model/errors.ts';
import { type Finding, fault, finding, ok } from '../../core/model/finding.ts';
import { localNetworkAdvice } from '../../core/model/local-network.ts';
import type { BackendHealth } from '../../core/model/ports/reading-ports.ts';
import type { FleetReport } from './agent/agent.ts';
import { certificateFinding, DESK } from './protocol/certificate-end.ts';
import { isOpenToOthers, type Membership, readMembership } from './protocol/membership.ts';
import { ONE_NAME_EACH } from './protocol/names.ts';
import { EVENTS, STREAMS, unlessMissing } from './protocol/subjects.ts';
import { connectAs, managerOf } from './setup/connections.ts';

/** The running service's own report, if there is a service. */
interface Running {
  readonly isUp: boolean;
  readonly report: FleetReport | undefined;
  readonly backend: BackendHealth | undefined;
  /** The folder of the configuration. */
  readonly dir: string;
}

/**
 * Finds out whether this machine can take part in its fleet. While the service runs, it is asked instead of the
 * servers: a connection from this terminal would prove nothing about the service, which may lack the permission for the
 * network.
 */
export async function fleetFindings(
  path: string,
  { isUp, report, backend, dir }: Running,
): Promise<readonly Finding[]> {
  let membership: Membership;
  try {
    membership = readMembership(path);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return [fault('fleet_file', error.message, error.hint ?? 'Make it with "postern fleet join".')];
  }
  const file = isOpenToOthers(path)
    ? fault(
        'fleet_file',
        `Others on this machine can read ${path}, which is a secret.`,
        `Run: chmod 600 ${quoted(path)}`,
      )
    : ok('fleet_file', `This machine is ${membership.member ?? 'a hub'} in its fleet.`);
  const connection = isUp ? reported(membership, report) : await servers(membership);
  const isHub = membership.member === undefined;
  const start = `Start it: postern hub --config-dir ${quoted(dir)}`;
  const down = isHub && !isUp ? [fault('service', 'The hub of this folder does not answer.', start)] : [];
  const atHub = isHub ? hubFindings(membership, backend) : [];
  return [...down, ...atHub, file, ...certificates(membership), ...connection];
}

/** Returns a hub's findings, in place of those about Messages. */
function hubFindings(membership: Membership, backend: BackendHealth | undefined): readonly Finding[] {
  const none = ok('chat_database', 'A hub reads no database of Messages.');
  if (backend === undefined) return [none];
  const { connected, message } = backend;
  return [
    connected
      ? ok('connection', message ?? 'The hub reads the events of the fleet.')
      : fault(
          'connection',
          message ?? 'The hub cannot read the events of the fleet.',
          adviceFor(message ?? '', membership),
        ),
    ok('events', 'GET /api/v1/macs says how far each Mac has published.'),
    none,
  ];
}

/** The report of a Mac's running service on its connection. */
function reported(membership: Membership, report: FleetReport | undefined): readonly Finding[] {
  if (report === undefined) return [];
  const { mac, behind, problem, certificate_ends: ends } = report;
  const certificate = ends === null ? [] : [certificateFinding("The server's certificate", Date.parse(ends))];
  if (problem === null) {
    return [ok('fleet', `This Mac is ${mac} in its fleet, which lacks ${behind} rows.`), ...certificate];
  }
  const advice = `Clients of this Mac are still served. ${adviceFor(problem, membership)}`;
  return [
    finding('warning', 'fleet', `This Mac, ${mac}, has a problem with its fleet: ${problem}.`, advice),
    ...certificate,
  ];
}

function certificates({ ca }: Membership): readonly Finding[] {
  if (ca === undefined) return [];
  return [certificateFinding("The fleet's authority", Date.parse(new X509Certificate(ca).validTo))];
}

async function servers(membership: Membership): Promise<readonly Finding[]> {
  const { member } = membership;
  const list = membership.servers.join(', ');
  const ends: number[] = [];
  try {
    const connection = await connectAs(membership, 'doctor', (end) => void ends.push(end));
    try {
      const jsm = await managerOf(connection);
      const wanted = member === undefined ? STREAMS : [EVENTS];
      const found = await Promise.all(wanted.map((stream) => unlessMissing(() => jsm.streams.info(stream))));
      const missing = wanted.filter((_, index) => found[index] === undefined);
      return [
        ok('fleet_servers', `The fleet lets this machine in (${list}).`),
        ...missing.map((stream) => fault('fleet_streams', `There is no stream ${stream}.`, `${DESK} init --connect`)),
        ...ends.map((end) => certificateFinding("The server's certificate", end)),
      ];
    } finally {
      await connection.close();
    }
  } catch (error) {
    const { message } = error as Error;
    return [
      fault(
        'fleet_servers',
        `No server of the fleet lets this machine in (${list}): ${message}.`,
        adviceFor(message, membership),
      ),
    ];
  }
}

function adviceFor(refusal: string, { servers: addresses }: Membership): string {
  if (/has the name/.test(refusal)) return ONE_NAME_EACH;
  if (/authorization/i.test(refusal)) {
    return 'The servers do not know its key. Was it revoked? Have the servers reloaded users.conf (nats-server --signal reload)?';
  }
  if (/certificate|altname|tls/i.test(refusal)) {
    return 'The servers have other certificates than the line of the fleet. Print it again at the desk, and join again.';
  }
  return `Is nats-server running there? ${localNetworkAdvice(refusal, addresses) ?? 'Does a firewall let this machine reach it?'}`;
}
