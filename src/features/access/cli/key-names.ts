import { isPosternError, type PosternClient } from '../../../client/postern-client.ts';

/**
 * Returns the names of all limited keys, including revoked ones. Key: the limited key's id. Value: its name. Returns an
 * empty map if the client's own key may not list keys.
 */
export async function keyNames(client: PosternClient): Promise<ReadonlyMap<string, string>> {
  try {
    const keys = await client.keys.list({ include: 'revoked' });
    return new Map(keys.map(({ id, name, revoked_at: at }) => [id, at === undefined ? name : `${name} (revoked)`]));
  } catch (error) {
    if (isPosternError(error) && error.status === 403) return new Map();
    throw error;
  }
}
