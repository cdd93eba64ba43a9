import { flag, integer, optionalPath, type Setting, type ValuesOf } from '../../core/config/setting.ts';
import { MACHINE } from './protocol/names.ts';

/** The section `[fleet]`. Without a file, this Mac is on its own. */
export const FLEET_SETTINGS = {
  file: optionalPath({
    name: 'fleet.file',
    title: 'File with the secret line',
    about:
      'The file with the secret line by which this Mac is a member of a fleet; "postern fleet join" makes it (docs/fleet.md). Empty: this Mac is on its own.',
  }),
  machine: {
    name: 'fleet.machine',
    title: 'Name of this machine',
    about: 'The name of this machine among those of its member. Empty: one made from the id of its hardware.',
    allowed: '1 to 40 lowercase letters, digits and hyphens, or empty',
    defaultValue: () => '',
    read: (written) => (typeof written === 'string' && (written === '' || MACHINE.test(written)) ? written : undefined),
  } satisfies Setting<string>,
  backfillHours: integer(
    {
      name: 'fleet.backfill_hours',
      title: 'Past messages for a new fleet',
      about:
        'How many hours of past messages this Mac publishes when the fleet has none of its messages, or has lost them.',
    },
    0,
    8760,
    24,
  ),
  changes: flag(
    {
      name: 'fleet.changes',
      title: 'Changes for hubs',
      about: 'Whether hubs also get changes of existing messages. If true, this Mac detects changes all the time.',
    },
    false,
  ),
};

export type FleetValues = ValuesOf<typeof FLEET_SETTINGS>;
