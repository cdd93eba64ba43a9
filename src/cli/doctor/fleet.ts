import type { FleetSettings } from '../../domain/fleet.ts';
import { localNetworkAdvice } from '../../domain/local-network.ts';
import type { FleetExamination, FleetMember } from '../../fleet/protocol/examine.ts';
import { quoted } from '../context.ts';
import { type Finding, fault, finding, ok } from './finding.ts';

/**
 * Checks that this Mac or hub can take part in its fleet. With `connects: false`, checks only files: on a Mac this
 * process has the terminal's rights and may reach a local network that the agent may not. Loads the code of NATS.
 */
export async function fleetFindings(
  settings: FleetSettings,
  member: FleetMember,
  { connects = true } = {},
): Promise<readonly Finding[]> {
  const { examineFiles, examineFleet } = await import('../../fleet/protocol/examine.ts');
  const found = connects ? await examineFleet(settings, member) : examineFiles(settings, member);
  return findingsOf(found, settings, member);
}

function findingsOf(found: FleetExamination, settings: FleetSettings, member: FleetMember): readonly Finding[] {
  const findings = [
    ...found.files.map((sentence) => fault('fleet_files', sentence, MAKE_FILES)),
    ...found.openFiles.map((path) =>
      finding('warning', 'fleet_files', `Others on this machine can read ${path}.`, `Run: chmod 600 ${quoted(path)}`),
    ),
  ];
  if (findings.length === 0) findings.push(ok('fleet_files', 'The files of the fleet can be used.'));
  const servers = settings.servers.join(', ');
  if (found.refusal !== undefined) {
    const sentence = `No server of the fleet lets this ${member === 'hub' ? 'hub' : 'Mac'} in (${servers}): ${found.refusal}.`;
    findings.push(fault('fleet_servers', sentence, adviceFor(found.refusal, member, settings.servers)));
  }
  if (found.missing !== undefined) {
    findings.push(ok('fleet_servers', `The fleet lets it in (${servers}).`));
    for (const sentence of found.missing) {
      findings.push(fault('fleet_streams', sentence, 'Where the fleet was set up: postern fleet init --connect'));
    }
  }
  return findings;
}

const MAKE_FILES = 'Copy the files that postern fleet init (for hubs) or postern fleet add (for a Mac) made.';

function adviceFor(refusal: string, member: FleetMember, servers: readonly string[]): string {
  if (/authorization/i.test(refusal)) {
    const add = member === 'hub' ? '' : ` Was it added (postern fleet add ${member.mac})?`;
    return `The servers do not know this key.${add} Did they read users.conf again (nats-server --signal reload)?`;
  }
  if (/certificate|altname|tls/i.test(refusal)) {
    return 'fleet.ca_file must hold the certificate of the authority, and fleet.servers the names that are in their certificates.';
  }
  const advice = localNetworkAdvice(refusal, servers);
  return `Is nats-server running there? ${advice ?? 'Does a firewall let this machine reach it?'}`;
}
