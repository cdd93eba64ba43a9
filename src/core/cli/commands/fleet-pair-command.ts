import { FleetFolder } from '../../../features/fleet/setup/fleet-folder.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { assertKnown, fleetPath, type OneMacOptions, onServers, reported } from './fleet-commands.ts';

/** Joins two Macs of the same Apple account into a single member of the fleet. */
export function pairMacs(
  mac: string,
  standby: string,
  options: OneMacOptions,
  context: ClientContext,
): Promise<number> {
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    for (const one of [mac, standby]) assertKnown(one, folder);
    const pair = { mac, standby, sinceMs: systemClock.now() };
    folder.addPair(pair);
    context.stdout(
      `${mac} and ${standby} are a pair: hubs show both as ${mac}, and either one stands in for the other.`,
      'Both must be signed in to the same Apple account, with Messages in iCloud on, and run the same macOS.',
    );
    await onServers(options, folder, context, async ({ writePair }, jsm) => writePair(jsm, pair));
    return EXIT.ok;
  });
}
