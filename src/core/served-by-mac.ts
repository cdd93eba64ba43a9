import type { Feature } from './feature.ts';
import { type OpenPages, servicePages } from './http/pages.ts';
import { documentsOf, type Resource, servedRoutes } from './http/resource.ts';
import { RESOURCES, type ResourceParts } from './http/resources.ts';
import type { HttpServerParts } from './http/server.ts';

export interface MacPagesParts {
  readonly version: string;
  /** The features whose operations are served. */
  readonly features: readonly Feature[];
  /** The pages of these features. */
  readonly pages: readonly OpenPages[];
  readonly notReady: () => readonly string[];
}

/** Returns what the server of a Mac serves: every operation, the features' pages, and the documents of the API. */
export function servedByMac(
  resources: ResourceParts,
  { version, features, pages, notReady }: MacPagesParts,
): Pick<HttpServerParts, 'routes' | 'pages'> {
  const all: readonly Resource<ResourceParts>[] = [...RESOURCES, ...features];
  return {
    routes: all.flatMap((one) => servedRoutes(one, resources)),
    pages: servicePages(notReady, () => documentFor(version, features), pages),
  };
}

async function documentFor(version: string, features: readonly Feature[]): Promise<object> {
  const { openApi } = await import('./http/openapi/openapi.ts');
  return openApi(version, await documentsOf([...RESOURCES, ...features]));
}
