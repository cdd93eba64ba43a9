import { FleetFolder } from '../../../features/fleet/setup/fleet-folder.ts';
import { awaitJoining, tokenOf } from '../../../features/fleet/setup/invitation.ts';
import { connectOperator } from '../../../features/fleet/setup/operator-connection.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { oneLine } from '../output/text.ts';
import { assertNew, type FleetOptions, fleetPath, onServers, reload, reported, today } from './fleet-commands.ts';

const VALID_MINUTES = 15;

interface InviteOptions extends FleetOptions {
  readonly replace?: boolean;
}

/**
 * `postern fleet invite`: prints a token and waits until a machine has joined with it. Prints only the token on stdout.
 */
export function inviteMac(mac: string, options: InviteOptions, context: ClientContext): Promise<number> {
  const { stdout, stderr } = context;
  return reported(context, async () => {
    const folder = FleetFolder.open(fleetPath(options, context));
    if (options.replace !== true) assertNew(mac, folder, `postern fleet invite ${mac} --replace`);
    const connection = await connectOperator(folder, 'operator');
    try {
      if (folder.updateUsers()) stderr('First:', ...reload(folder), '');
      const invitation = folder.invitation(mac);
      const opened = (): void => {
        stderr(
          `On the machine that becomes ${mac}, type: postern fleet join`,
          'It asks for this token, which is secret and works only once:',
        );
        stdout(tokenOf(invitation));
        stderr(`Waiting for ${mac}, at most ${VALID_MINUTES} minutes. Ctrl+C ends the invitation.`);
      };
      const signal = AbortSignal.any([context.untilEnded(), AbortSignal.timeout(VALID_MINUTES * 60_000)]);
      const store = ({ key }: { readonly key: string }): void => folder.joinMac(mac, key, today());
      const machine = await awaitJoining(connection, invitation, folder.contentOf(mac), { opened, store }, signal);
      if (machine === undefined) {
        stderr(`The invitation has ended, and its token no longer works. Nobody has joined as ${mac}.`);
        return EXIT.timedOut;
      }
      stderr(`"${oneLine(machine.name)}" has joined as ${mac}.`);
    } finally {
      await connection.close();
    }
    await onServers({}, folder, context, async ({ createMac }, jsm) => createMac(jsm, mac));
    const old = options.replace === true ? [`After that, the servers refuse the machine that was ${mac} before.`] : [];
    stderr(...reload(folder), ...old);
    return EXIT.ok;
  });
}
