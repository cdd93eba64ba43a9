import type { ClientContext } from '../../../core/cli/client-context.ts';
import { EXIT } from '../../../core/cli/context.ts';
import { type Column, sayTable } from '../../../core/cli/output/table.ts';
import { json, oneLine } from '../../../core/cli/output/text.ts';
import { shownSpan } from '../../../core/cli/output/time.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { type FleetOptions, fleetPath } from './desk-commands.ts';
import { FleetFolder } from './fleet-folder.ts';
import { type FleetState, fleetReport } from './fleet-report.ts';

const TITLES = ['MAC', 'STATE', 'MACHINE', 'NAME', 'ROW', 'BEHIND', 'LATE', 'VERSION'];
const MACS: readonly Column[] = TITLES.map((title) => ({ title }));

/** `postern fleet status`: shows the state of the fleet. Exits with 1 if there is a problem. */
export async function showFleet(
  options: FleetOptions & { readonly json?: boolean },
  context: ClientContext,
): Promise<number> {
  const now = systemClock.now();
  const report = await fleetReport(FleetFolder.open(fleetPath(options, context)), now);
  if (options.json === true) context.stdout(json(report, 2));
  else showReport(report, now, context);
  return report.problems.length === 0 ? EXIT.ok : EXIT.failed;
}

/** Writes the report. Servers and machines may lie about themselves, so none of their texts is more than a line. */
export function showReport(report: FleetState, now: number, context: ClientContext): void {
  const { servers, streams, macs, certificates, problems, warnings } = report;
  for (const { name, version } of servers) context.stdout(oneLine(`Server  ${name}, nats-server ${version}`));
  for (const stream of streams) context.stdout(streamLine(stream, now));
  for (const { file, end } of certificates) {
    context.stdout(`Certificate  ${file}, valid until ${new Date(end).toISOString().slice(0, 10)}`);
  }
  context.stdout('');
  sayTable(context, MACS, macs.flatMap(macRows), 'There is no Mac yet. postern fleet add makes a line for one.');
  const remarks = [...problems.map((problem) => `! ${problem}`), ...warnings.map((warning) => `- ${warning}`)];
  if (remarks.length > 0) context.stdout('', ...remarks.map(oneLine));
}

function streamLine({ name, messages, bytes, first, replicas }: FleetState['streams'][number], now: number): string {
  const ageS = first === null ? 0 : Math.max(0, Math.floor((now - Date.parse(first)) / 1000));
  const age = first === null ? '' : `, the oldest ${shownSpan(ageS)} ago`;
  const copies = replicas === 1 ? '1 copy' : `${replicas} copies`;
  return `Stream  ${name}: ${messages} messages, ${(bytes / 2 ** 20).toFixed(1)} MiB${age}, ${copies}`;
}

function macRows({ mac, machines }: FleetState['macs'][number]): readonly (readonly string[])[] {
  if (machines.length === 0) return [[mac, 'away', '-', '-', '-', '-', '-', '-']];
  return machines.map(({ machine, name, row, behind, late, version }) => {
    const numbers = [row, behind, late].map(String);
    return [mac, 'present', machine, name, ...numbers, version];
  });
}
