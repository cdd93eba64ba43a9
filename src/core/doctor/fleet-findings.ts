import type { FleetExamination, FleetMember } from '../../features/fleet/protocol/examine.ts';
import { quoted } from '../cli/context.ts';
import { DAY_MS } from '../model/durations.ts';
import type { FleetSettings } from '../model/fleet.ts';
import { isoSecond } from '../model/iso-second.ts';
import { localNetworkAdvice } from '../model/local-network.ts';
import { systemClock } from '../runtime/clock.ts';
import { type Finding, fault, finding, ok } from './finding.ts';

const SOON_DAYS = 30;
/**
 * Maximum difference between this machine's clock and the server's, in seconds. Beyond it, sends may expire too early
 * or too late.
 */
const MAX_CLOCK_S = 5;

/**
 * Checks that this Mac or hub can take part in its fleet. With `connects: false`, checks only files: a connection from
 * this terminal would prove nothing, because the agent may lack the terminal's permission for the local network. Loads
 * the NATS client on the first call.
 */
export async function fleetFindings(
  settings: FleetSettings,
  member: FleetMember,
  { connects = true } = {},
): Promise<readonly Finding[]> {
  const { examineFiles, examineFleet } = await import('../../features/fleet/protocol/examine.ts');
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
    findings.push(ok('fleet_servers', `The fleet lets this ${member === 'hub' ? 'hub' : 'Mac'} in (${servers}).`));
    for (const sentence of found.missing) {
      findings.push(
        fault(
          'fleet_streams',
          sentence,
          'On the machine where the fleet was set up, run: postern fleet init --connect',
        ),
      );
    }
  }
  for (const { name, end } of found.certificates ?? []) findings.push(certificateFinding(name, end));
  if (found.clockAheadMs !== undefined) findings.push(clockFinding(found.clockAheadMs));
  return findings;
}

/** Reports until when a certificate is valid. `end` is in Unix milliseconds. */
export function certificateFinding(name: string, end: number): Finding {
  const day = isoSecond(end).slice(0, 10);
  const days = Math.floor((end - systemClock.now()) / DAY_MS);
  if (days >= SOON_DAYS) return ok('fleet_certificate', `${name} is valid until ${day}.`);
  const sentence = days < 0 ? `${name} has ended (${day}).` : `${name} ends in ${days} days (${day}).`;
  const advice = 'On the machine where the fleet was set up, run: postern fleet renew';
  return finding(days < 0 ? 'problem' : 'warning', 'fleet_certificate', sentence, advice);
}

/** Reports whether this machine's clock agrees with the server's. `aheadMs` is negative if this clock is behind. */
export function clockFinding(aheadMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (seconds <= MAX_CLOCK_S) {
    return ok('fleet_clock', `The clocks of this machine and of the server differ by ${seconds} s.`);
  }
  const sentence = `When last connected, the clock of this machine was ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the server's.`;
  const advice = 'Sends may expire too early or too late. Synchronize both clocks with a time server.';
  return finding('warning', 'fleet_clock', sentence, advice);
}

const MAKE_FILES =
  'For a Mac, run postern fleet invite where the fleet was set up, and postern fleet join here. For a hub, copy fleet/hub here.';

function adviceFor(refusal: string, member: FleetMember, servers: readonly string[]): string {
  if (/authorization/i.test(refusal)) {
    const add = member === 'hub' ? '' : ` Has this Mac joined the fleet (postern fleet status)?`;
    return `The servers do not know this key.${add} Have they reloaded users.conf (nats-server --signal reload)?`;
  }
  if (/certificate|altname|tls/i.test(refusal)) {
    return 'fleet.ca_file must hold the certificate of the authority that signed those of the servers. fleet.servers must use the names in those certificates.';
  }
  const advice = localNetworkAdvice(refusal, servers);
  return `Is nats-server running there? ${advice ?? 'Does a firewall let this machine reach it?'}`;
}
