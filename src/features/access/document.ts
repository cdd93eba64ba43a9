import type { ResourceDocument } from '../../core/http/resource.ts';
import { accessExamples } from './examples.ts';
import { ACCESS_OPERATIONS } from './operations.ts';
import { approvalSchema, approveBody, heldSendSchema } from './schema/approval-schema.ts';
import { auditSchema } from './schema/audit-schema.ts';
import {
  keyBody,
  keyChangesBody,
  keyCheckSchema,
  keyRevocationSchema,
  keySchema,
  newKeySchema,
} from './schema/key-schema.ts';

/** Keys, approvals and the audit log in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: ACCESS_OPERATIONS,
  schemas: {
    Approval: approvalSchema,
    ApprovalDecision: approveBody,
    AuditEntry: auditSchema,
    HeldSend: heldSendSchema,
    Key: keySchema,
    KeyChanges: keyChangesBody,
    KeyCheck: keyCheckSchema,
    KeyRequest: keyBody,
    KeyRevocation: keyRevocationSchema,
    NewKey: newKeySchema,
  },
  deferred: {
    schema: heldSendSchema,
    example: {
      summary: 'Held',
      value: { approval: accessExamples.approval, console: `/console#/approvals/${accessExamples.approval.id}` },
    },
    problems: ['send_denied', 'already_decided', 'approval_expired', 'cap_reached', 'too_many_held'],
  },
};
