import type { Feature } from './feature.ts';
import { type OpenPages, servicePages } from './http/pages.ts';
import { documentsOf, type Resource, servedRoutes } from './http/resource.ts';
import { RESOURCES, type ResourceParts } from './http/resources.ts';
import { HttpServer, type HttpServerParts } from './http/server.ts';

export interface MacServerParts extends Omit<HttpServerParts, 'routes' | 'pages'>, ResourceParts {
  readonly notReady: () => readonly string[];
  readonly version: string;
  /** The features whose operations are served. */
  readonly features: readonly Feature[];
  /** The pages of these features. */
  readonly pages: readonly OpenPages[];
}

/** Creates the server of a Mac, which serves every operation. */
export function macServer(parts: MacServerParts): HttpServer {
  const all: readonly Resource<ResourceParts>[] = [...RESOURCES, ...parts.features];
  return new HttpServer({
    ...parts,
    routes: all.flatMap((one) => servedRoutes(one, parts)),
    pages: servicePages(parts.notReady, () => documentFor(parts), parts.pages),
  });
}

async function documentFor({ version, features }: MacServerParts): Promise<object> {
  const { openApi } = await import('./http/openapi/openapi.ts');
  return openApi(version, await documentsOf([...RESOURCES, ...features]));
}
