import { approvalsWait } from './tools/approvals-wait.ts';
import { whoami } from './tools/whoami.ts';

export const TOOLS = [whoami, approvalsWait];
