import { join } from 'node:path';
import { FleetFolder } from '../../../features/fleet/setup/fleet-folder.ts';
import { MEMBER_FILES } from '../../../features/fleet/setup/member-files.ts';
import { isoSecond } from '../../model/iso-second.ts';
import { commandRunner } from '../../runtime/command.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { type FleetOptions, fleetPath, reported } from './fleet-commands.ts';

/**
 * `postern fleet renew`: makes new certificates for the servers, with the authority that all machines already trust.
 */
export function renewCertificates(options: FleetOptions, context: ClientContext): Promise<number> {
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    const ends = await folder.renewCertificates(commandRunner(context.environment.env));
    context.stdout(
      ...ends.map(({ file, end }) => `${file} is valid until ${isoSecond(end).slice(0, 10)}.`),
      `Copy ${join(folder.path, 'server/tls')} to each server, and run there:`,
      '  nats-server --signal reload',
      'Macs and hubs need no change.',
    );
    return EXIT.ok;
  });
}

/** `postern fleet rotate`: takes the next of three steps to a new content key. */
export function rotateContentKey(options: FleetOptions, context: ClientContext): Promise<number> {
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    const said = {
      added: 'Step 1 of 3: a new key was added. Nothing is encrypted with it yet.',
      switched: 'Step 2 of 3: the new key is used from now on. The old one still decrypts what is in the streams.',
      ended: 'Step 3 of 3: the old key is gone.',
    }[folder.rotateContentKey()];
    context.stdout(
      said,
      `Copy ${MEMBER_FILES.content} from ${folder.memberFolder('hub')} to every hub, and from each folder in`,
      `${join(folder.path, 'macs')} to that Mac; then restart Postern there.`,
    );
    return EXIT.ok;
  });
}
