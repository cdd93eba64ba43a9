import { DEFAULT_CAPS, type KeyDetails } from '../../src/client/key-types.ts';
import { SCOPES } from '../../src/core/model/key.ts';

export const LIMITED_KEY = 'postern_00000000_limited';

/** A limited key with every right. */
export const ANY_KEY: KeyDetails = {
  id: '00000000',
  name: 'test',
  scopes: SCOPES,
  read: '*',
  send: '*',
  approval: 'never',
  caps: DEFAULT_CAPS,
  dry_run: false,
  created_at: '2026-01-02T03:04:05Z',
  expires_at: null,
  callback_hosts: [],
  max_wait_s: 50,
  last_used_at: null,
};
