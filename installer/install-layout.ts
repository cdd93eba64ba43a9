import { join } from 'node:path';

export const LABEL = 'local.postern.agent';
export const BUNDLE_ID = 'local.postern';

/** The paths of everything installed on a Mac. No other module spells them out. */
export interface Layout {
  /**
   * The app bundle to which macOS grants the permissions. It does not contain Postern's code, because every update
   * replaces the code, and a change inside the bundle would break its signature.
   */
  readonly app: string;
  /** The private copy of Node: the program that launchd starts and that macOS knows as Postern. */
  readonly executable: string;
  /** The configuration folder (decision A1). It also holds the code. */
  readonly support: string;
  /** The folder that contains one folder for each installed version. */
  readonly versions: string;
  /** A link to the version in use. */
  readonly current: string;
  /** A link to the version that was in use before `current`. */
  readonly previous: string;
  readonly main: string;
  /** A small script that runs `postern` with the private Node. */
  readonly command: string;
  readonly config: string;
  /** The file that a running installer or uninstaller locks. */
  readonly lock: string;
  /**
   * The file with the cdhash of the bundle to which macOS last granted permissions. The file stays when the bundle is
   * removed.
   */
  readonly knownCdhash: string;
  readonly plist: string;
  readonly logs: string;
  /** The folder of converted attachments, which can be recreated. */
  readonly caches: string;
  /** The log files for the agent's stdout and stderr, in this order. */
  readonly logFiles: readonly [string, string];
  readonly menuPlugin: string;
}

export function layoutOf(home: string): Layout {
  const app = join(home, 'Applications', 'Postern.app');
  const support = join(home, 'Library', 'Application Support', 'Postern');
  const current = join(support, 'current');
  const logs = join(home, 'Library', 'Logs', 'Postern');
  return {
    app,
    executable: join(app, 'Contents', 'MacOS', 'Postern'),
    support,
    versions: join(support, 'versions'),
    current,
    previous: join(support, 'previous'),
    main: join(current, 'dist', 'main.js'),
    command: join(support, 'postern'),
    config: join(support, 'config.toml'),
    lock: join(support, 'install-lock.db'),
    knownCdhash: join(support, 'bundle-cdhash'),
    plist: join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`),
    logs,
    caches: join(home, 'Library', 'Caches', 'Postern'),
    logFiles: [join(logs, 'postern.log'), join(logs, 'postern.error.log')],
    menuPlugin: join(current, 'installer', 'menubar', 'postern.30s.sh'),
  };
}
