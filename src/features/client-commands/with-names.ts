import { isPosternError } from '../../client/postern-client.ts';
import type { Include } from '../../core/model/include.ts';

/**
 * Makes a request that includes people's names and the data that `others` lists. If the service refuses the names, as a
 * service of many Macs does, repeats the request without them.
 */
export async function withNames<Answer>(
  ask: (included: { readonly include?: readonly Include[] }) => Promise<Answer>,
  others: readonly Include[] = [],
): Promise<Answer> {
  try {
    return await ask({ include: ['contacts', ...others] });
  } catch (error) {
    if (isPosternError(error) && error.code === 'invalid_request') {
      return ask(others.length === 0 ? {} : { include: others });
    }
    throw error;
  }
}
