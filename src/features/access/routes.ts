import type { Handler } from '../../core/http/router.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { APPROVAL_HANDLERS } from './approval-routes.ts';
import { AUDIT_HANDLERS } from './audit-routes.ts';
import { KEY_HANDLERS } from './key-routes.ts';

/** The handlers for limited keys, for sends that wait, and for the audit log. */
export const HANDLERS: Readonly<Record<string, Handler>> = lookupTable({
  ...KEY_HANDLERS,
  ...APPROVAL_HANDLERS,
  ...AUDIT_HANDLERS,
});
