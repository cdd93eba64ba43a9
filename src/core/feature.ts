import type { ProgramCommand } from './cli/declaration.ts';
import type { Served } from './cli/service-connection.ts';
import type { Config, Section } from './config/config.ts';
import type { SettingTable, ValuesOf } from './config/setting.ts';
import type { Core } from './core.ts';
import type { DetailsPart } from './details-part.ts';
import type { Gauge } from './http/metrics/handlers.ts';
import type { OpenPages } from './http/pages.ts';
import type { Resource } from './http/resource.ts';
import type { HttpServer } from './http/server.ts';
import type { ClientLines, ClientSetup } from './model/client-lines.ts';
import type { Finding } from './model/finding.ts';
import type { HiddenText } from './model/hidden-text.ts';
import type { InStatus, StatusReport } from './model/status.ts';
import type { Sqlite } from './runtime/sqlite.ts';
import type { Tool } from './tools/tool.ts';

/**
 * One option of Postern, with all of its parts. A feature is declared by a small module that loads no other
 * code of the feature: whatever is costly is behind a function that imports it. To remove a feature, delete its folder,
 * its places in `features/list.ts` and `features/rows.ts`, and the features whose `needs` name it.
 *
 * The declaration is read without a running service, for config.toml, the command line, the documents of the API and
 * state.db. `open` is called only in a running service.
 */
export interface Feature<Table extends SettingTable = SettingTable> extends Resource, Section<Table> {
  /** Name of the feature's folder, of its section in config.toml, and of its member in the status. */
  readonly name: string;
  /** The features whose ports this one uses. They precede it in the list, which a test checks. */
  readonly needs?: readonly string[];
  /** Creates the feature's own tables in state.db. */
  readonly tables?: string;
  /** True if hubs serve `routes`, too: the handlers use nothing of a Mac. */
  readonly isForHubs?: true;
  /** Loads the pages that the service shows to anybody. Hubs serve them, too. */
  readonly pages?: (isHub: boolean) => Promise<OpenPages>;
  /** The members that the feature adds to the details of messages. */
  readonly details?: DetailsPart;
  /** Loads the tools of MCP, at the first request of an MCP client. */
  readonly tools?: () => Promise<readonly Tool[]>;
  /** Declares the commands of the command line. The code of a command is loaded when it runs. */
  commands?(program: ProgramCommand): void;
  /** Returns how other programs are set up for this feature. `values` is undefined if the configuration is unknown. */
  clients?(
    key: ClientSetup,
    values: ValuesOf<Table> | undefined,
    server: Pick<Config['server'], 'host' | 'port'>,
  ): readonly ClientLines[];
  /**
   * Returns the texts of messages that Postern writes for this feature, and that lists leave out, also those written
   * under earlier settings.
   */
  hides?(values: ValuesOf<Table>, core: Pick<Core, 'config' | 'state'>): readonly HiddenText[];
  /**
   * Reports whether the settings switch the feature on. Makes the feature's name a capability in the status, by which
   * clients learn what a service can do.
   */
  isCapable?(values: ValuesOf<Table>): boolean;
  /** Returns what keys besides the owner's see of the feature's member of the status. Without it, they see nothing. */
  readonly shownToKeys?: (status: never) => object;
  /** Loads what `postern status` prints about the feature's member of the status. */
  readonly shown?: () => Promise<(status: never) => ShownStatus>;
  /** Loads the lines that `postern status` prints for the owner below the status. */
  readonly statusPage?: () => Promise<(service: Served) => Promise<readonly string[]>>;
  /** Returns what doctor finds about this feature, on a machine whose configuration can be used. */
  findings?(examined: Examined): Promise<readonly Finding[]>;
  /** Erases what held only for a chat.db that has been replaced. */
  replaced?(state: Sqlite): void;
  /** Ends, in the copy that becomes a backup, what a restored service must not continue. */
  backedUp?(copy: Sqlite): void;
  /** Ends what must not survive a restored backup. Returns sentences for the person who restores. */
  restored?(state: Sqlite, nowMs: number): readonly string[];
  /** Creates the feature in a running service. Returns undefined, and loads nothing, if it is switched off. */
  open?(core: Core, values: ValuesOf<Table>): Running | undefined | Promise<Running | undefined>;
}

/** A feature in a running service. */
export interface Running extends InStatus {
  /** Called in the order of the list, once the service listens at `http`. */
  start?(http: HttpServer): void | Promise<void>;
  /** Called for all features at the same time. Resolves once nothing of the feature runs any more, within 8.7 s. */
  close?(): void | Promise<void>;
  metrics?(gauge: Gauge): void;
}

/** The facts that doctor has collected before it asks the features. */
export interface Examined {
  readonly config: Config;
  /** True if the service runs. */
  readonly isUp: boolean;
  /** The status of the service; undefined if it could not be asked. */
  readonly status: StatusReport | undefined;
}

/** The feature's line in `postern status`. */
export interface ShownStatus {
  readonly label: string;
  readonly text: string;
  readonly tone?: 'red' | 'yellow' | undefined;
}

/** Returns the feature. Exists so that the compiler infers the types of the settings' values. */
export function feature<Table extends SettingTable>(one: Feature<Table>): Feature {
  return one;
}

/** Returns which features are capabilities of the service, and whether they are switched on. */
export function capabilitiesOf(config: Config, features: readonly Feature[]): Readonly<Record<string, boolean>> {
  return Object.fromEntries(
    features.flatMap((one) => {
      const isOn = one.isCapable?.(config.features[one.name] ?? {});
      return isOn === undefined ? [] : [[one.name, isOn]];
    }),
  );
}

/** Returns the operations of the resources, and of those features that run. */
export function operationsIn(
  all: readonly (Resource<never> & Pick<Feature, 'open'>)[],
  running: ReadonlyMap<string, unknown>,
): readonly string[] {
  const served = all.filter((one) => one.open === undefined || running.has(one.name));
  return served.flatMap(({ routes = {} }) => Object.keys(routes));
}

/** Returns what keys besides the owner's see of the members that features add to the status. */
export function shownToKeys(status: object, features: readonly Feature[]): Readonly<Record<string, object>> {
  const members = status as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    features.flatMap(({ name, shownToKeys: shown }) =>
      shown === undefined || members[name] === undefined ? [] : [[name, shown(members[name] as never)]],
    ),
  );
}

/** Returns the messages that lists leave out. */
export function hiddenTexts(core: Pick<Core, 'config' | 'host' | 'state'>): readonly HiddenText[] {
  return core.host.features.flatMap((one) => one.hides?.(core.config.features[one.name] ?? {}, core) ?? []);
}

/** Loads the pages of features. */
export function featurePages(features: readonly Feature[], isHub = false): Promise<readonly OpenPages[]> {
  return Promise.all(features.flatMap((one) => (one.pages === undefined ? [] : [one.pages(isHub)])));
}
