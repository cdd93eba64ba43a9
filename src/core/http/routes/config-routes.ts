import type { ShownSetting } from '../../model/shown-setting.ts';
import type { Handlers } from '../router.ts';

/** Loads the settings in use. */
export type ReadSettings = () => Promise<readonly ShownSetting[]>;

/** Returns the handler for the configuration (decision Z3). */
export function configRoutes(settings: ReadSettings): Pick<Handlers, 'getConfig'> {
  return { getConfig: async () => ({ status: 200, body: { settings: await settings() } }) };
}
