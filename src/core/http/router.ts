import { App, type Request, type Response } from '@tinyhttp/app';
import * as z from 'zod';
import { assertAllowed, type Caller, type EventCaller } from '../model/caller.ts';
import { type AppError, isAppError, type Mistake } from '../model/errors.ts';
import { invalidRequest, problem } from '../model/problems.ts';
import { readBody } from '../schema/mistakes.ts';
import { parseQuery, readQuery } from '../schema/query-parameters.ts';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import type { Operation } from './openapi/operation.ts';
import type { OpenPages } from './pages.ts';
import { pathOf, type Route } from './route.ts';

const NO_PARAMETERS = z.object({});

/** Performs one operation with the ports of `exchange.caller`. Throws the AppError to answer with. */
export type Handler<Who extends EventCaller = Caller> = (exchange: Exchange<Who>) => Answer | Promise<Answer>;

/** An operation with its handler. */
export interface ServedRoute {
  readonly route: Route;
  readonly handler: Handler;
  /** Loads the description of the operation; absent if another service has it. */
  readonly operation?: () => Promise<Operation | undefined>;
}

interface RoutedRequest extends Request {
  exchange: Exchange;
}

/** Finds the handler of a request that access control has admitted. */
export class Router {
  readonly #app: App<RoutedRequest, Response>;
  readonly #pages: OpenPages;
  /**
   * Key: an operation's path with an empty id, such as `/webhooks/`. Value: the operation's path, and the handlers of
   * the methods that the list `/webhooks` lacks. For the others, the path is the list's.
   */
  readonly #withoutId = new Map<string, { readonly path: string; readonly methods: ReadonlyMap<string, Handler> }>();

  constructor(routes: readonly ServedRoute[], pages: OpenPages) {
    this.#pages = pages;
    this.#app = new App<RoutedRequest, Response>({
      settings: { xPoweredBy: false },
      // tinyhttp's additions to request and response take more time than all its other work, and nothing here uses
      // them.
      applyExtensions: (_request, _response, next) => next?.(),
      noMatchHandler: ({ exchange }) => exchange.fail(problem('not_found')),
      onError: (error, request) => (request as RoutedRequest).exchange.fail(error),
    });
    const paths = byPath(routes);
    for (const [path, methods] of paths) {
      this.#app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), route(path, methods));
      if (!path.endsWith('}')) continue;
      const start = path.slice(0, path.lastIndexOf('{'));
      const ofList = paths.get(start.slice(0, -1));
      const others = new Map([...methods].filter(([method]) => ofList?.has(method) !== true));
      this.#withoutId.set(start, { path, methods: others });
    }
  }

  run(exchange: Exchange, response: Response): void {
    try {
      checkPath(exchange.path);
      const { isStrict } = exchange;
      if (isStrict) exchange.headers['Preference-Applied'] = 'handling=strict';
      if (exchange.rawQuery !== '') exchange.query = parseQuery(exchange.rawQuery, isStrict);
    } catch (error) {
      exchange.fail(error);
      return;
    }
    const request = exchange.request as RoutedRequest;
    request.exchange = exchange;
    const page = this.#pages.get(exchange.path);
    if (page !== undefined) {
      // The metrics count all pages below a folder as one route, because each route adds metrics.
      const [path = exchange.path] = /^\/[^/]+(?=\/)/.exec(exchange.path) ?? [];
      void route(path, new Map([['GET', page]]))(request);
      return;
    }
    const withoutId = this.#withoutId.get(exchange.path);
    if (withoutId?.methods.has(readAs(exchange.method)) === true) {
      request.params = {};
      void route(withoutId.path, withoutId.methods)(request);
      return;
    }
    this.#app.handler(request, response);
  }
}

/**
 * Returns a handler for tinyhttp. It must be declared `async`, because tinyhttp catches rejections only from such
 * functions.
 */
function route(path: string, methods: ReadonlyMap<string, Handler>) {
  return async ({ exchange, params }: RoutedRequest): Promise<void> => {
    exchange.route = path;
    exchange.params = params;
    try {
      const handler = methods.get(readAs(exchange.method));
      if (handler === undefined) throw methodNotAllowed(methods);
      exchange.send(await handler(exchange));
    } catch (error) {
      exchange.fail(error);
    }
  };
}

/** Returns the method whose handler runs: HEAD works like GET (decision E7). */
function readAs(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

function byPath(routes: readonly ServedRoute[]): ReadonlyMap<string, ReadonlyMap<string, Handler>> {
  const paths = new Map<string, Map<string, Handler>>();
  for (const served of routes) {
    const path = pathOf(served.route);
    const methods = paths.get(path) ?? new Map<string, Handler>();
    paths.set(path, methods.set(served.route.method, guarded(served)));
  }
  return paths;
}

/**
 * Checks the caller's rights before the handler runs, and the query if the handler does not name its mistakes together
 * with all others: that of an operation with a body, or without parameters. Loads the description of the operation only
 * for that, because few such requests have a query.
 */
function guarded({ route: { access, method }, handler, operation }: ServedRoute): Handler {
  return async (exchange) => {
    if (access !== 'open') assertAllowed(exchange.caller, access);
    const { rawQuery, isStrict, query } = exchange;
    if (operation === undefined || rawQuery === '' || (method === 'GET' && !isStrict)) return handler(exchange);
    const described = await operation();
    if (described === undefined) return handler(exchange);
    const { body, files, query: parameters = NO_PARAMETERS } = described;
    const isReadByHandler = parameters !== NO_PARAMETERS && body === undefined && files === undefined;
    const inQuery = isReadByHandler ? [] : await mistakesOf(() => readQuery(parameters, query));
    if (inQuery.length === 0) return handler(exchange);
    const inBody = body === undefined ? [] : await mistakesOf(async () => readBody(body.schema, await exchange.json()));
    throw invalidRequest([...inQuery, ...inBody]);
  };
}

/** Returns the mistakes with which `check` fails. A body that is too large or of another type contains none. */
async function mistakesOf(check: () => unknown): Promise<readonly Mistake[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (isAppError(error)) return error.mistakes;
    throw error;
  }
}

function methodNotAllowed(methods: ReadonlyMap<string, Handler>): AppError {
  const allowed = [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  return problem('method_not_allowed', { methods: allowed }, { headers: { Allow: allowed } });
}

/** Throws `invalid_path` unless the path is percent-encoded UTF-8 without NUL. tinyhttp needs such a path. */
function checkPath(path: string): void {
  try {
    if (path.startsWith('/') && !decodeURIComponent(path).includes('\0')) return;
  } catch {
    // Malformed percent-encoding.
  }
  throw problem('invalid_path');
}
