import { editDistance } from '../model/edit-distance.ts';
import { isRecord } from '../model/record.ts';
import type { Environment } from './environment.ts';
import { type Setting, type SettingTable, type ValuesOf, valuesOf } from './setting.ts';
import { SETTINGS } from './settings.ts';
import { isDate, shown } from './shown-value.ts';

type SectionOf<Name extends keyof typeof SETTINGS> = ValuesOf<(typeof SETTINGS)[Name]>;

/** All settings, checked and frozen. Decision A4 says what each key allows. */
export interface Config {
  /** The folder that holds config.toml and state.db. */
  readonly dir: string;
  readonly server: SectionOf<'server'>;
  readonly auth: SectionOf<'auth'>;
  readonly backend: SectionOf<'backend'>;
  readonly send: SectionOf<'send'>;
  readonly webhooks: SectionOf<'webhooks'>;
  /** The values of each feature's section. Key: the feature's name. */
  readonly features: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A section of config.toml that a feature adds. */
export interface Section<Table extends SettingTable = SettingTable> {
  readonly name: string;
  /** The settings of the section `[name]`. Key: how the program calls the value. */
  readonly settings?: Table;
  /** Returns what is wrong with the settings, or what they lack together with the settings of the core. */
  check?(values: ValuesOf<Table>, config: Config): CheckedSettings;
}

/** The result of a section's check of its settings. */
export interface CheckedSettings {
  readonly mistakes?: readonly string[];
  readonly warnings?: readonly string[];
  /** A sentence that says how these settings let strangers try keys. A key that can be guessed is then a mistake. */
  readonly strangers?: string;
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

/** Returns the sections of the core and of the features, each with where its values are in a Config. */
export function sectionsOf({ features = [] }: Pick<Environment, 'features'>): readonly {
  readonly settings: SettingTable;
  readonly valuesIn: (config: Config) => Readonly<Record<string, unknown>>;
}[] {
  const { server, auth, backend, send, webhooks } = SETTINGS;
  return [
    { settings: server, valuesIn: (config) => config.server },
    { settings: auth, valuesIn: (config) => config.auth },
    { settings: backend, valuesIn: (config) => config.backend },
    { settings: send, valuesIn: (config) => config.send },
    { settings: webhooks, valuesIn: (config) => config.webhooks },
    ...features.map(({ name, settings = {} }) => ({
      settings,
      valuesIn: (config: Config) => config.features[name] ?? {},
    })),
  ];
}

/** Returns every setting of the core and of the features. */
export function allSettings(environment: Pick<Environment, 'features'>): readonly Setting[] {
  return sectionsOf(environment).flatMap(({ settings }) => Object.values(settings));
}

/** Checks a parsed config.toml and reports every mistake. */
export function checkConfig(
  tables: Readonly<Record<string, unknown>>,
  dir: string,
  environment: Environment,
): CheckedConfig {
  const { written, mistakes, warnings } = writtenIn(tables, environment);
  const reader = new SettingReader(written, environment, mistakes);
  const { features = [] } = environment;
  const config: Config = {
    dir,
    server: reader.values(SETTINGS.server),
    auth: reader.values(SETTINGS.auth),
    backend: reader.values(SETTINGS.backend),
    send: reader.values(SETTINGS.send),
    webhooks: reader.values(SETTINGS.webhooks),
    features: Object.fromEntries(features.map(({ name, settings = {} }) => [name, reader.values(settings)])),
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

/** Returns what config.toml contains for each name, with a warning for each unknown name. */
function writtenIn(tables: Readonly<Record<string, unknown>>, environment: Environment) {
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
  const warnings = unknown.slice(0, MAX_UNKNOWN).map((name) => ignored(name, names, sections));
  const more = unknown.length - MAX_UNKNOWN;
  if (more > 0) warnings.push(`${more} more unknown names are ignored.`);
  return { written, mistakes, warnings };
}

/** Reads the values of settings from what config.toml contains, and collects every mistake. */
class SettingReader {
  readonly #written: ReadonlyMap<string, unknown>;
  readonly #environment: Environment;
  readonly #mistakes: string[];

  constructor(written: ReadonlyMap<string, unknown>, environment: Environment, mistakes: string[]) {
    this.#written = written;
    this.#environment = environment;
    this.#mistakes = mistakes;
  }

  /** Returns the values of a section. A value with a mistake is undefined, but then no Config is returned. */
  values<Table extends SettingTable>(table: Table): ValuesOf<Table> {
    return valuesOf(table, (setting) => {
      const { name, defaultValue, isList, allowed } = setting;
      const given = this.#written.has(name) ? this.#written.get(name) : defaultValue(this.#environment);
      if (isList !== true) return this.#read(setting, given, name);
      if (Array.isArray(given)) return given.map((item, index) => this.#read(setting, item, `${name}[${index}]`));
      this.#mistakes.push(`${name} is ${shown(given)}; it must be a list, and each item must be ${allowed}.`);
      return undefined;
    });
  }

  #read(setting: Setting, value: unknown, name: string): unknown {
    const meaning = setting.read(value, this.#environment);
    if (meaning === undefined) this.#mistakes.push(mistake(setting, value, name));
    const trouble = meaning === undefined ? undefined : setting.trouble?.(meaning);
    if (trouble !== undefined) this.#mistakes.push(`${name} is ${shown(meaning)}, but ${trouble}.`);
    return meaning;
  }
}

/** Asks a section about its settings, unless one of them cannot be read. */
function checkedBy(one: Section, config: Config): CheckedSettings {
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
  return isRecord(value) && !isDate(value);
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part as object);
  return Object.freeze(value);
}
