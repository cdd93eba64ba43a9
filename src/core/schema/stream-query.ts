import * as z from 'zod';
import { includeParameter } from './include-parameter.ts';
import { narrowingParameters } from './narrowing-parameters.ts';
import { afterParameter, changesParameter } from './offset-parameter.ts';

/** Parameters of the WebSocket besides its key, and of `GET /events` as a stream (decisions G3, H, Q1). */
export const streamQuery = z.object({
  after: afterParameter.optional(),
  changes: changesParameter,
  include: includeParameter,
  ...narrowingParameters,
});
