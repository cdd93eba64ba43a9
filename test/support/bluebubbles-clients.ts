import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folder with the files of real clients, named by POSTERN_BLUEBUBBLES_CLIENTS: `hermes/` with the adapter and the
 * modules that it imports, `ha/` with `api.py` and `inbound.py`. Their licences do not let them be kept here.
 */
export const clientsFolder = process.env.POSTERN_BLUEBUBBLES_CLIENTS ?? '';

export const hasBlueBubblesClients = clientsFolder !== '' && existsSync(join(clientsFolder, 'drive.py'));
