import type { FleetFolder } from '../../../features/fleet/setup/fleet-folder.ts';
import {
  type FleetState,
  fleetReport,
  type MacState,
  type StreamReport,
} from '../../../features/fleet/setup/fleet-report.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json, printable } from '../output/text.ts';
import { shownSpan } from '../output/time.ts';

const MACS: readonly Column[] = [
  { title: 'MAC' },
  { title: 'STATE' },
  { title: 'SEEN' },
  { title: 'LAST EVENT' },
  { title: 'BEHIND' },
  { title: 'WAITING' },
  { title: 'VERSION' },
  { title: 'MACHINE' },
];

/** `postern fleet status`: reports the state of the servers. Exits with 1 if there is a problem. */
export async function fleetStatus(folder: FleetFolder, isJson: boolean, context: ClientContext): Promise<number> {
  const now = systemClock.now();
  const report = await fleetReport(folder, now);
  if (isJson) context.stdout(json(report, 2));
  else show(report, now, context);
  return report.problems.length === 0 ? EXIT.ok : EXIT.crash;
}

function show(
  { servers, streams, macs, pairs, certificates, problems, warnings }: FleetState,
  now: number,
  context: ClientContext,
): void {
  for (const { name, version } of servers) context.stdout(`Server  ${name}, nats-server ${version}`);
  for (const stream of streams) context.stdout(streamLine(stream, now));
  for (const { file, end } of certificates) context.stdout(`Certificate  ${file}, valid until ${day(end)}`);
  for (const { mac, standby } of pairs) context.stdout(`Pair  ${mac} and its standby ${standby}, shown as ${mac}`);
  context.stdout('');
  sayTable(
    context,
    MACS,
    macs.map((mac) => macRow(mac, now)),
    'There is no Mac yet. postern fleet invite makes a token for one.',
  );
  const remarks = [...problems.map((problem) => `! ${problem}`), ...warnings.map((warning) => `- ${warning}`)];
  if (remarks.length > 0) context.stdout('', ...remarks.map(printable));
}

function streamLine({ name, messages, bytes, first, replicas }: StreamReport, now: number): string {
  const age = first === null ? '' : `, the oldest ${ago(first, now)}`;
  const copies = replicas === 1 ? '1 copy' : `${replicas} copies`;
  return `Stream  ${name}: ${messages} messages, ${(bytes / 2 ** 20).toFixed(1)} MiB${age}, ${copies}`;
}

function macRow(
  { mac, state, lastSeen, lastEvent, behind, waiting, version, machine }: MacState,
  now: number,
): readonly string[] {
  const when = (instant: string | null): string => (instant === null ? 'never' : ago(instant, now));
  return [
    mac,
    state,
    when(lastSeen),
    when(lastEvent),
    String(behind ?? '-'),
    String(waiting ?? 'no queue'),
    version ?? '-',
    machine?.name ?? '-',
  ];
}

function day(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

function ago(instant: string, now: number): string {
  return `${shownSpan(Math.max(0, Math.floor((now - Date.parse(instant)) / 1000)))} ago`;
}
