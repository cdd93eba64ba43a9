import type { Operation } from '../../src/core/http/openapi/operation.ts';
import { documentsOf } from '../../src/core/http/resource.ts';
import { RESOURCES } from '../../src/core/http/resources.ts';
import type { Route } from '../../src/core/http/route.ts';
import { FEATURES } from '../../src/features/list.ts';

/** What the documents of the API say about the core and all features. */
export const ALL_DOCUMENTS = await documentsOf([...RESOURCES, ...FEATURES]);

/** The routes of the core and of all features. Key: the operation. */
export const ALL_ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  ALL_DOCUMENTS.flatMap(({ routes }) => Object.entries<Route>(routes)),
);

/** The operations of the core and of all features. Key: the operation. */
export const ALL_OPERATIONS: Readonly<Record<string, Operation>> = Object.fromEntries(
  ALL_DOCUMENTS.flatMap(({ operations }) => Object.entries<Operation>(operations)),
);
