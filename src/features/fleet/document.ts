import * as z from 'zod';

/** The member `fleet` of the status. */
export const fleetSchema = z.object({
  mac: z.string().meta({ description: 'The name of this Mac in the fleet.' }),
  machine: z.string().meta({ description: 'The name of this machine among those of its Mac.' }),
  state: z.enum(['connected', 'away', 'refused']).meta({
    description: '`away`: the broker cannot be reached. `refused`: another machine with this name was there first.',
  }),
  published_row: z.int().nullable().meta({ description: 'The newest row that the fleet has acknowledged.' }),
  behind: z.int().meta({ description: 'Number of rows that the fleet does not have yet, at most.' }),
  late: z.int().meta({
    description:
      'Number of rows that were older than the stream keeps when they could be published. They have no event.',
  }),
  certificate_ends: z.string().nullable().meta({ description: "When the certificate of the broker's server expires." }),
  problem: z.string().nullable(),
});
