import type { ShownSetting } from '../model/shown-setting.ts';
import { allSettings, type Config } from './config.ts';
import type { Environment } from './environment.ts';
import type { Setting } from './setting.ts';

/** Returns the value and the default of every setting except secrets, as `GET /config` shows them (decision Z3). */
export function settingsReport(config: Config, environment: Environment): readonly ShownSetting[] {
  return allSettings(environment)
    .filter(({ isSecret }) => isSecret !== true)
    .map((setting) => {
      const value = valueIn(config, setting.name, environment);
      const usual = usualOf(setting, environment);
      return {
        key: setting.name,
        value: value === undefined ? usual : value,
        default: usual,
        is_default: value === undefined || JSON.stringify(value) === JSON.stringify(usual),
        needs_restart: true,
        description: setting.about,
      };
    });
}

/** Returns a setting's default, converted like a value from the file; null if the setting has no default. */
function usualOf({ defaultValue, read }: Setting, environment: Environment): unknown {
  const written = defaultValue(environment);
  return Array.isArray(written) ? written : (read(written, environment) ?? null);
}

/** Returns the value in use. */
function valueIn(config: Config, name: string, { features = [] }: Environment): unknown {
  const [section = '', key = ''] = name.split('.');
  const owner = features.find(({ settings = {} }) => Object.values(settings).some((one) => one.name === name));
  const own = owner?.settings ?? {};
  const called = Object.entries(own).find(([, setting]) => setting.name === name)?.[0];
  if (called !== undefined) return config.features[section]?.[called];
  const settings = (config as unknown as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>)[
    section
  ];
  const camel = key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const names = [camel, `is${camel.charAt(0).toUpperCase()}${camel.slice(1)}`, `${camel}Address`];
  return names.map((one) => settings?.[one]).find((value) => value !== undefined);
}
