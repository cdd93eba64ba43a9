import type { CheckedSettings, Feature } from '../feature.ts';
import type { AssociatedRows } from '../model/associated-rows.ts';
import { editDistance } from '../model/edit-distance.ts';
import { certificatesIn } from './certificates.ts';
import type { Environment } from './environment.ts';
import type { Setting, SettingTable } from './setting.ts';
import { SETTINGS } from './settings.ts';
import { isDate, shown } from './shown-value.ts';

/** All settings, checked and frozen. Decision A4 says what each key allows. */
export interface Config {
  /** The folder that holds config.toml and state.db. */
  readonly dir: string;
  readonly server: {
    readonly host: string;
    /** 0 means any free port. */
    readonly port: number;
    /** True to listen on the Unix socket too. */
    readonly socket: boolean;
    readonly rateLimitPerMinute: number;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
  };
  readonly auth: { readonly apiKey: string };
  readonly backend: {
    readonly chatDbPath: string;
    readonly pollIntervalMs: number;
    readonly osascriptPath: string;
    readonly associatedRows: AssociatedRows;
  };
  readonly send: { readonly confirmMs: number; readonly attachmentRoots: readonly string[] };
  readonly webhooks: {
    readonly allowedHosts: readonly string[];
    /** Certificates in PEM that webhooks trust besides the usual ones. */
    readonly certificates: readonly string[];
  };
  /** The values of each feature's section. Key: the feature's name. */
  readonly features: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export type CheckedConfig =
  | { readonly config: Config; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[]; readonly warnings: readonly string[] };

const MIN_KEY_LENGTH = 16;
const SHORT_KEY = `auth.api_key has fewer than ${MIN_KEY_LENGTH} characters and could be guessed; \`postern config rotate-key\` makes a random one.`;

/**
 * Maximum number of unknown names that each get a warning with the nearest known name. One more warning counts the
 * other unknown names.
 */
const MAX_UNKNOWN = 20;
const LONGEST_NAME = 60;

/** Settings and sections that an earlier version had. Value: what their warning says. */
const GONE: ReadonlyMap<string, string> = new Map([['update', 'Postern no longer looks for newer versions.']]);

/** Returns every setting of the core and of the features. */
export function allSettings({ features = [] }: Pick<Environment, 'features'>): readonly Setting[] {
  return [...Object.values<Setting>(SETTINGS), ...features.flatMap(({ settings = {} }) => Object.values(settings))];
}

/** Checks a parsed config.toml and reports every mistake. */
export function checkConfig(
  tables: Readonly<Record<string, unknown>>,
  dir: string,
  environment: Environment,
): CheckedConfig {
  const names = allSettings(environment).map(({ name }) => name);
  const sections = new Set(names.map(sectionOf));
  const mistakes: string[] = [];
  const written = new Map<string, unknown>();
  for (const [section, content] of Object.entries(tables)) {
    if (!sections.has(section)) written.set(section, content);
    else if (!isTable(content)) mistakes.push(`${section} must be a section that begins with [${section}].`);
    else for (const [key, value] of Object.entries(content)) written.set(`${section}.${key}`, value);
  }
  const unknown = [...written.keys()].filter((name) => !names.includes(name));
  const warnings: string[] = unknown.slice(0, MAX_UNKNOWN).map((name) => ignored(name, names, sections));
  const more = unknown.length - MAX_UNKNOWN;
  if (more > 0) warnings.push(`${more} more unknown names are ignored.`);

  const given = ({ name, defaultValue }: Setting): unknown =>
    written.has(name) ? written.get(name) : defaultValue(environment);
  const read = <Value>(setting: Setting<Value>, value: unknown, name = setting.name): Value => {
    const meaning = setting.read(value, environment);
    if (meaning === undefined) mistakes.push(mistake(setting, value, name));
    // `meaning` may be undefined despite the cast. That undefined never reaches a caller: after a mistake, no Config is
    // returned.
    return meaning as Value;
  };
  const one = <Value>(setting: Setting<Value>): Value => read(setting, given(setting));
  const all = <Value>(setting: Setting<Value>): readonly Value[] => {
    const list = given(setting);
    if (Array.isArray(list)) return list.map((item, index) => read(setting, item, `${setting.name}[${index}]`));
    mistakes.push(`${setting.name} is ${shown(list)}; it must be a list, and each item must be ${setting.allowed}.`);
    return [];
  };

  const certificates = (): readonly string[] => {
    const file = one(SETTINGS.webhookCaFile);
    if (file === undefined || file === '') return [];
    const found = certificatesIn(file);
    if ('certificates' in found) return found.certificates;
    mistakes.push(`${SETTINGS.webhookCaFile.name} is ${shown(file)}, but ${found.mistake}.`);
    return [];
  };
  const { features = [] } = environment;
  const sectionValues = (table: SettingTable): Readonly<Record<string, unknown>> =>
    Object.fromEntries(Object.entries(table).map(([key, setting]) => [key, one(setting)]));
  const config: Config = {
    dir,
    server: {
      host: one(SETTINGS.host),
      port: one(SETTINGS.port),
      socket: one(SETTINGS.socket),
      rateLimitPerMinute: one(SETTINGS.rateLimitPerMinute),
      allowedHosts: all(SETTINGS.allowedHosts),
      allowedOrigins: all(SETTINGS.allowedOrigins),
    },
    auth: { apiKey: one(SETTINGS.apiKey) },
    backend: {
      chatDbPath: one(SETTINGS.chatDbPath),
      pollIntervalMs: one(SETTINGS.pollIntervalMs),
      osascriptPath: one(SETTINGS.osascriptPath),
      associatedRows: one(SETTINGS.associatedRows),
    },
    send: { confirmMs: one(SETTINGS.confirmMs), attachmentRoots: all(SETTINGS.attachmentRoots) },
    webhooks: { allowedHosts: all(SETTINGS.webhookHosts), certificates: certificates() },
    features: Object.fromEntries(features.map(({ name, settings = {} }) => [name, sectionValues(settings)])),
  };
  const checked = features.map((one) => checkedBy(one, config));
  mistakes.push(...checked.flatMap((one) => one.mistakes ?? []));
  if (mistakes.length === 0) {
    const isShort = [...config.auth.apiKey].length < MIN_KEY_LENGTH;
    const strangers = checked.flatMap(({ strangers: said }) => said ?? []);
    if (isShort) (strangers.length > 0 ? mistakes : warnings).push([SHORT_KEY, ...strangers].join(' '));
    warnings.push(...checked.flatMap((one) => one.warnings ?? []));
  }
  return mistakes.length > 0 ? { mistakes, warnings } : { config: frozen(config), warnings };
}

/** Asks a feature about its settings, unless one of them cannot be read. */
function checkedBy(one: Feature, config: Config): CheckedSettings {
  const values = config.features[one.name] ?? {};
  const isRead = Object.values(values).every((value) => value !== undefined);
  return (isRead && one.check?.(values, config)) || {};
}

function mistake(setting: Setting, value: unknown, name: string): string {
  if (value === undefined) return `${name} is missing; it must be ${setting.allowed}.`;
  if (setting.isSecret) return `${name} is not valid; it must be ${setting.allowed}.`;
  return `${name} is ${shown(value)}; it must be ${setting.allowed}.`;
}

function ignored(name: string, names: readonly string[], sections: ReadonlySet<string>): string {
  const gone = GONE.get(name);
  if (gone !== undefined) return `${name} is no longer a setting and is ignored: remove it. ${gone}`;
  if (name.length > LONGEST_NAME) return `${name.slice(0, LONGEST_NAME)}… is not known and is ignored.`;
  return `${name} is not known and is ignored; the nearest known name is ${near(name, names, sections)}.`;
}

/**
 * Returns the known section or key with the smallest edit distance. Differences in the key weigh more than those in the
 * section.
 */
function near(name: string, names: readonly string[], sections: ReadonlySet<string>): string {
  const cost = (known: string): number =>
    name.includes('.') || known.includes('.')
      ? 2 * editDistance(keyOf(name), keyOf(known)) + editDistance(sectionOf(name), sectionOf(known))
      : 2 * editDistance(name, known);
  const costs = [...sections, ...names].map((known): readonly [string, number] => [known, cost(known)]);
  return costs.reduce((best, one) => (one[1] < best[1] ? one : best))[0];
}

function sectionOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('.')));
}

function keyOf(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isDate(value);
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part as object);
  return Object.freeze(value);
}
