import type * as z from 'zod';
import type { Caller, EventCaller } from '../model/caller.ts';
import type { ProblemText } from '../model/problem-text.ts';
import { madeOnce } from '../runtime/made-once.ts';
import type { AddedSchemas } from '../schema/content-schema.ts';
import type { Operation } from './openapi/operation.ts';
import type { Route } from './route.ts';
import type { Handler, ServedRoute } from './router.ts';

/**
 * Operations that belong together, in three parts for three moments: the routes are there from the start, the handlers
 * are loaded at the first request to one of them, and the document for `/openapi.json` and `Prefer: handling=strict`.
 * `Parts` is what the handlers use besides the ports of the caller.
 */
export interface Resource<Parts = unknown, Id extends string = string, Who extends EventCaller = Caller> {
  /** Name of the resource's folder. */
  readonly name: string;
  /** Routes below `/api/v1`. Key: the operation. */
  readonly routes?: Readonly<Record<Id, Route>>;
  /** Loads the handlers of `routes`. */
  readonly handlers?: (parts: Parts) => Promise<Readonly<Record<Id, Handler<Who>>>>;
  /** Problems that only this resource answers with. Key: the problem's name. */
  readonly problems?: Readonly<Record<string, ProblemText>>;
  /** Loads what the documents of the API say about the resource. */
  readonly document?: () => Promise<ResourceDocument<Id>>;
}

/** The documentation of a resource or a feature in the API's documents. */
export interface ResourceDocument<Id extends string = string> {
  /** Key: the operation, as in `routes`. */
  readonly operations: Readonly<Record<Id, Operation>>;
  /** Key: the schema's name in the document. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  /** The feature's member of the status. */
  readonly status?: z.ZodType;
  /** The 202 answer to a send that the feature takes over. */
  readonly deferred?: {
    readonly schema: z.ZodType;
    readonly example: { readonly summary: string; readonly value: unknown };
    /** Problems of the feature with which such a send is refused. */
    readonly problems?: readonly string[];
  };
}

/** A loaded document, with the routes and problems that belong to it. */
export interface LoadedDocument extends ResourceDocument {
  readonly name: string;
  readonly routes: Readonly<Record<string, Route>>;
  readonly problems: Readonly<Record<string, ProblemText>>;
  /** The schemas of the members that the feature adds to `details`. */
  readonly details?: AddedSchemas;
  /** True if the service may lack all of it: a feature that is switched off. */
  readonly isOptional: boolean;
}

/** Returns the resource. Exists so that the compiler checks that each route has its handler and its description. */
export function resource<Parts, const Id extends string, Handlers extends Readonly<Record<NoInfer<Id>, Handler>>>(one: {
  readonly name: string;
  readonly routes: Readonly<Record<Id, Route>>;
  readonly handlers: (parts: Parts) => Promise<Handlers>;
  readonly document: () => Promise<ResourceDocument<NoInfer<Id>>>;
}): typeof one {
  return one;
}

/** Returns handlers that load those of the resource at the first request to one of them. */
export function handlersOf<Parts, Id extends string, Who extends EventCaller>(
  { name, routes, handlers }: Resource<Parts, Id, Who>,
  parts: Parts,
): Readonly<Record<Id, Handler<Who>>> {
  const loaded = madeOnce(async (): Promise<Readonly<Record<string, Handler<Who>>> | undefined> => handlers?.(parts));
  const ids = Object.keys(routes ?? {});
  const lazily = ids.map((id): [string, Handler<Who>] => [
    id,
    async (exchange) => {
      const handler = (await loaded())?.[id];
      if (handler === undefined) throw new Error(`${name} has no handler for ${id}`);
      return handler(exchange);
    },
  ]);
  return Object.fromEntries(lazily) as Readonly<Record<Id, Handler<Who>>>;
}

/** Returns the operations of a resource, as a server serves them. */
export function servedRoutes<Parts>(one: Resource<Parts>, parts: Parts): readonly ServedRoute[] {
  const handlers = Object.entries(handlersOf(one, parts));
  return handlers.flatMap(([id, handler]) => {
    const route = one.routes?.[id];
    const operation = async (): Promise<Operation | undefined> => (await one.document?.())?.operations[id];
    return route === undefined ? [] : [{ route, handler, operation }];
  });
}

/** Loads what the documents of the API say. What is opened, as features are, may be switched off. */
export async function documentsOf(
  all: readonly (Resource<never> & {
    readonly details?: { readonly schemas: () => Promise<AddedSchemas> };
    readonly open?: unknown;
  })[],
): Promise<readonly LoadedDocument[]> {
  const loaded: LoadedDocument[] = [];
  for (const { name, routes = {}, problems = {}, document, details, open } of all) {
    const says = await document?.();
    const schemas = await details?.schemas();
    if (says === undefined && schemas === undefined) continue;
    const isOptional = open !== undefined;
    loaded.push({ name, routes, problems, isOptional, operations: {}, ...says, ...(schemas && { details: schemas }) });
  }
  return loaded;
}
