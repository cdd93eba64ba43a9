import { documentsOf } from '../../src/core/feature.ts';
import type { Operation } from '../../src/core/http/openapi/operation.ts';
import { OPERATIONS } from '../../src/core/http/openapi/operations.ts';
import { ROUTES, type Route } from '../../src/core/schema/routes.ts';
import { FEATURES } from '../../src/features/list.ts';

const documents = await documentsOf(FEATURES);

/** The routes of the core and of all features. Key: the operation. */
export const ALL_ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  [ROUTES, ...documents.map(({ routes }) => routes)].flatMap((table) => Object.entries<Route>(table)),
);

/** The operations of the core and of all features. Key: the operation. */
export const ALL_OPERATIONS: Readonly<Record<string, Operation>> = Object.fromEntries(
  [OPERATIONS, ...documents.map(({ operations }) => operations)].flatMap((table) => Object.entries<Operation>(table)),
);
