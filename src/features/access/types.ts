// The schemas of access that other features use.
export { approvalSchema } from './schema/approval-schema.ts';
export { keyUseSchema } from './schema/key-use-schema.ts';
