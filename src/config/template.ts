import type { Environment } from './environment.ts';
import { SETTINGS, type Setting } from './settings.ts';

/** Keys that a new file has ready to be edited; the others are there as comments. */
const USUAL: readonly string[] = [
  SETTINGS.host.name,
  SETTINGS.port.name,
  SETTINGS.apiKey.name,
  SETTINGS.chatDbPath.name,
  SETTINGS.pollIntervalMs.name,
];

/** The text of a new config.toml: every setting with its meaning, and `values` by setting name. */
export function configTemplate(
  values: ReadonlyMap<string, string | number | boolean>,
  environment: Environment,
): string {
  const lines = ['# The configuration of Postern. Restart Postern after editing.'];
  let section = '';
  for (const setting of Object.values<Setting>(SETTINGS)) {
    const [sectionName = '', key = ''] = setting.name.split('.');
    if (sectionName !== section) lines.push('', `[${sectionName}]`);
    section = sectionName;
    const value = values.get(setting.name) ?? setting.defaultValue(environment);
    const isActive = values.has(setting.name) || USUAL.includes(setting.name);
    lines.push(`# ${setting.about}`, `${isActive ? '' : '# '}${key} = ${literal(value)}`);
  }
  return `${lines.join('\n')}\n`;
}

/** JSON writes text, numbers and lists as TOML does, but for the one control character it leaves alone. */
function literal(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value).replaceAll('\x7f', '\\u007f');
}
