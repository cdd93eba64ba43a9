import type { ShownSetting } from '../model/shown-setting.ts';
import { type Config, sectionsOf } from './config.ts';
import type { Environment } from './environment.ts';
import { usualValue } from './setting.ts';

/** Returns the value and the default of every setting except secrets, as `GET /config` shows them. */
export function settingsReport(config: Config, environment: Environment): readonly ShownSetting[] {
  return sectionsOf(environment).flatMap(({ settings, valuesIn }) =>
    Object.entries(settings)
      .filter(([, { isSecret }]) => isSecret !== true)
      .map(([key, setting]) => {
        const value = valuesIn(config)[key];
        const usual = usualValue(setting, environment);
        return {
          key: setting.name,
          title: setting.title,
          value,
          default: usual,
          is_default: JSON.stringify(value) === JSON.stringify(usual),
          needs_restart: true,
          description: setting.about,
        };
      }),
  );
}
