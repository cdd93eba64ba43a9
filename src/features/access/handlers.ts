import type { Handler } from '../../core/http/router.ts';
import { APPROVAL_HANDLERS } from './approval-handlers.ts';
import { AUDIT_HANDLERS } from './audit-handlers.ts';
import { KEY_HANDLERS } from './key-handlers.ts';

/** The handlers for limited keys, for sends that wait, and for the audit log. */
export const HANDLERS = {
  ...KEY_HANDLERS,
  ...APPROVAL_HANDLERS,
  ...AUDIT_HANDLERS,
} satisfies Readonly<Record<string, Handler>>;
