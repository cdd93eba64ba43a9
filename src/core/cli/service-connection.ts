import { existsSync, readFileSync } from 'node:fs';
import { type ClientOptions, isPosternError, PosternClient, type PosternError } from '../../client/postern-client.ts';
import type { Config } from '../config/config.ts';
import { configPath, readConfig } from '../config/config-file.ts';
import { demoFolder } from '../config/environment.ts';
import { isOwnUrl, trustedSocketOf, urlOf } from '../config/service-address.ts';
import { errorCode } from '../model/errors.ts';
import { LIMITED_KEY } from '../model/key.ts';
import { PROBLEMS } from '../model/problems.ts';
import { trimmedEnd } from '../model/text.ts';
import type { ClientContext } from './client-context.ts';
import {
  type ConnectionOptions,
  type Context,
  EXIT,
  environmentOf,
  folderOf,
  isConfigurationNamed,
  namedUrl,
} from './context.ts';
import { isDemoRunning } from './demo-running.ts';
import { exitCodeOf } from './exit-codes.ts';
import { copyable } from './invocation.ts';
import { type Column, sayTable } from './output/table.ts';
import { json, printable, UNBROKEN, wrapped } from './output/text.ts';

/** Ends a command with a sentence for the user, advice, and an exit code. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, ...lines: readonly string[]) {
    super(lines[0]);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** The context of a command that talks to a running service. */
export interface Served extends ClientContext {
  readonly client: PosternClient;
  /** The given URL, or the path of the Unix socket. */
  readonly address: string;
  /** True if the key is limited. Commands then skip requests that need the owner's key: each refusal is logged. */
  readonly isLimited: boolean;
  /** Completes the commands in backticks in `text`, so that a user can copy and run them. */
  readonly copyable: (text: string) => string;
  /** Prints `value` as JSON with --json, else these lines as they are. The lines must contain no control characters. */
  readonly answer: (value: unknown, ...lines: readonly string[]) => void;
  /** Prints `value` as JSON with --json, else a table without control characters, or `none` if it has no rows. */
  readonly list: (
    value: unknown,
    columns: readonly Column[],
    rows: readonly (readonly string[])[],
    none: string,
  ) => void;
}

/** Runs `work` with the service. Any failure becomes a sentence and an exit code. */
export async function withService(
  options: ConnectionOptions,
  context: ClientContext,
  work: (service: Served) => number | Promise<number> | Promise<void>,
): Promise<number> {
  return reportRefusal(options, context, () => {
    context.progress('Waiting for Postern');
    const { address, ...destination } = destinationOf(options, context);
    const isJson = options.json === true;
    return work({
      ...context,
      address,
      isLimited: LIMITED_KEY.test(destination.key),
      copyable: (text) => copyable(text, options, context),
      client: new PosternClient(destination),
      answer(value, ...lines) {
        if (isJson) context.stdout(json(value, 2));
        else if (lines.length > 0) context.stdout(...lines);
      },
      list(value, ...table) {
        if (isJson) context.stdout(json(value, 2));
        else sayTable(context, ...table);
      },
    });
  });
}

/** Runs `work` and returns its exit code. A Refusal or PosternError becomes sentences and an exit code. */
export async function reportRefusal(
  options: ConnectionOptions,
  context: Context,
  work: () => number | Promise<number> | Promise<void>,
): Promise<number> {
  try {
    const code = await work();
    return code ?? EXIT.ok;
  } catch (error) {
    const refusal = refusalOf(error, options, await unreachableAdvice(error, options, context));
    if (refusal === undefined) throw error;
    const width = context.isErrorTerminal ? context.columns : undefined;
    const lines = refusal.lines.map((line) => copyable(line, options, context, UNBROKEN));
    const [sentence = [], ...advice] = lines.map((line) => wrapped(printable(line), width, 0));
    context.stderr(...sentence.map((line) => context.paintError('red', line)), ...advice.flat());
    return refusal.exitCode;
  } finally {
    context.progress(undefined);
  }
}

/** Returns the service's address for the configuration of other programs. */
export function serviceUrl(options: ConnectionOptions, context: Context): string {
  return trimmedEnd(namedUrl(options, context) ?? urlOf(configurationOf(options, context).server), /\//);
}

/** Returns the configuration of the service; undefined if a URL selects the service, which may run elsewhere. */
export function localConfiguration(options: ConnectionOptions, context: Context): Config | undefined {
  return namedUrl(options, context) === undefined ? configurationOf(options, context) : undefined;
}

type Destination = Pick<ClientOptions, 'key' | 'url' | 'socketPath'> & { readonly address: string };

/**
 * Returns the service and the key from --key-file or POSTERN_API_KEY. Never uses the owner's key from the
 * configuration: a program that a model drives must not have it.
 */
export function limitedDestinationOf(options: ConnectionOptions, context: Context): Destination {
  const { env } = context.environment;
  const key = givenKey(options, env, 'Write a limited key into it: "postern keys add" prints one.');
  if (key !== undefined) return { ...targetOf(options, context, () => configurationOf(options, context)), key };
  throw new Refusal(
    EXIT.keyRefused,
    'There is no key for the agent.',
    'Make one with "postern keys add", then pass it in the environment as POSTERN_API_KEY, or with --key-file FILE.',
  );
}

/**
 * Returns the service and its key: the address from --url or POSTERN_URL, otherwise the Unix socket of the
 * configuration. Never uses the configured port, because another program could have taken it.
 */
function destinationOf(options: ConnectionOptions, context: Context): Destination {
  const env = environmentOf(options, context);
  const key = givenKey(options, env, 'Write the key of the service into it.');
  let config: Config | undefined;
  const configuration = (): Config => {
    config ??= configurationOf(options, context);
    return config;
  };
  const target = targetOf(options, context, configuration);
  if (key !== undefined) return { ...target, key };
  const ways = isConfigurationNamed(options) ? '--key-file FILE' : '--key-file FILE or in POSTERN_API_KEY';
  if (target.url !== undefined && !existsSync(configPath(folderOf(options, context)))) {
    throw new Refusal(EXIT.keyRefused, `There is no key for ${new URL(target.url).origin}. Give it with ${ways}.`);
  }
  const { auth, server } = configuration();
  if (target.url === undefined || isOwnUrl(target.url, server)) return { ...target, key: auth.apiKey };
  throw new Refusal(
    EXIT.keyRefused,
    `The key in config.toml is sent only to its own service, not to ${new URL(target.url).origin}. Give the key for that address with ${ways}.`,
  );
}

/** A service that this command cannot reach at its Unix socket, but a person can, in a browser. */
export interface AtPort {
  readonly url: string;
  /** Why not at the socket, and the file that contains the key. Absent if a URL selects the service. */
  readonly distrust?: { readonly reason: string; readonly keyFile: string };
}

/** Returns where a person reaches the service; undefined if this command itself can reach it at its Unix socket. */
export function atPort(options: ConnectionOptions, context: Context): AtPort | undefined {
  const named = namedUrl(options, context);
  if (named !== undefined) {
    targetOf(options, context, () => configurationOf(options, context));
    return { url: named };
  }
  const config = configurationOf(options, context);
  const socket = trustedSocketOf(config);
  if ('path' in socket || config.server.port === 0) return undefined;
  return { url: urlOf(config.server), distrust: { reason: socket.reason, keyFile: configPath(config.dir) } };
}

function targetOf(options: ConnectionOptions, context: Context, configuration: () => Config): Omit<Destination, 'key'> {
  const givenUrl = namedUrl(options, context);
  if (givenUrl !== undefined && !/^https?:$/.test(URL.canParse(givenUrl) ? new URL(givenUrl).protocol : '')) {
    const name = options.url === undefined ? 'POSTERN_URL' : '--url';
    throw new Refusal(EXIT.usage, `${name} is ${givenUrl}; it must be an address such as http://127.0.0.1:3001.`);
  }
  if (givenUrl !== undefined) return { url: givenUrl, address: givenUrl };
  const config = configuration();
  const socket = trustedSocketOf(config);
  if ('path' in socket) return { socketPath: socket.path, address: socket.path };
  throw new Refusal(
    EXIT.config,
    `Nothing was sent, because ${configPath(config.dir)} leads to no Unix socket that can be trusted. ${socket.reason}`,
    config.server.port === 0
      ? 'To use the port, name the address from the log line "serving", and its key: --url URL --key-file FILE'
      : `To use the port, if you know that no other program has taken it: --url ${urlOf(config.server)}`,
  );
}

function configurationOf(options: ConnectionOptions, context: Context): Config {
  const reading = readConfig(folderOf(options, context), context.environment);
  if (reading.state === 'absent') {
    throw new Refusal(
      EXIT.config,
      `There is no configuration at ${reading.path}.`,
      options.demo === true
        ? 'Start the demo first: postern demo'
        : existsSync(configPath(demoFolder(undefined, context.environment)))
          ? 'For the demo, which has one, add --demo. Otherwise start Postern once (postern serve), or name --config-dir or --url.'
          : 'Start Postern once (postern serve), or say where it is: --demo, --config-dir, or --url with --key-file.',
    );
  }
  if (reading.state === 'unusable') {
    throw new Refusal(EXIT.config, `${reading.path} cannot be used.`, ...reading.mistakes.map((line) => `  ${line}`));
  }
  return reading.config;
}

/** Returns the key in the file of --key-file or in POSTERN_API_KEY; undefined if neither is given. */
function givenKey(
  { keyFile }: ConnectionOptions,
  env: Context['environment']['env'],
  advice: string,
): string | undefined {
  return keyFile === undefined ? env.POSTERN_API_KEY?.trim() || undefined : keyIn(keyFile, advice);
}

function keyIn(path: string, advice: string): string {
  let key: string;
  try {
    key = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new Refusal(
      EXIT.config,
      `The key file ${path} cannot be read (${errorCode(error)}).`,
      'It must be a file that you may read, with nothing but the key in it.',
    );
  }
  if (key !== '') return key;
  throw new Refusal(EXIT.config, `The key file ${path} is empty.`, advice);
}

function refusalOf(error: unknown, options: ConnectionOptions, advice?: readonly string[]): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!isPosternError(error)) return undefined;
  return new Refusal(exitCodeOf(error), error.message, ...(advice ?? hints(error, options)));
}

/**
 * Returns advice if a service was named that does not answer, or if the command lacks `--demo` while only a demo is
 * running; undefined for any other failure.
 */
async function unreachableAdvice(
  error: unknown,
  options: ConnectionOptions,
  context: Context,
): Promise<readonly string[] | undefined> {
  if (!isPosternError(error) || error.code !== 'unreachable') return undefined;
  if (namedUrl(options, context) !== undefined) return ['Is it running there, and is that its address?'];
  if (isConfigurationNamed(options) || !(await isDemoRunning(context))) return undefined;
  return ['Only a demo is running on this machine. For the demo, add --demo to the command.'];
}

function hints({ code, hint }: PosternError, { demo }: ConnectionOptions): readonly string[] {
  switch (code) {
    case 'unreachable':
      return demo === true
        ? ['Is it running (postern demo)? `postern doctor` finds out.']
        : [
            'Is it running (postern serve, postern demo)? After an update, was it restarted? `postern doctor` finds out.',
          ];
    case 'unauthorized':
      if (hint === PROBLEMS.limited_key_refused.hint) return [hint];
      return ['Give the api_key that the running service has. It reads config.toml only when it starts.'];
    case 'connection_lost':
      return ['The request may have been carried out.'];
    default:
      return hint === undefined ? [] : [hint];
  }
}
