// All types of the client's answers and options.

export type { ClientLines } from '../core/model/client-lines.ts';
export type { Conversation } from '../core/model/conversation.ts';
export type { AttachmentDetails, MessageDetails, MessageKind, Origin, TransferState } from '../core/model/details.ts';
export type { ChangeEvent, ChangeName, Event, EventType } from '../core/model/event.ts';
export type { Include } from '../core/model/include.ts';
export type { Scope } from '../core/model/key.ts';
export type { ListedAttachment } from '../core/model/listed-attachment.ts';
export type { Message, MessageStatus } from '../core/model/message.ts';
export type { Reaction, ReactionType } from '../core/model/reaction.ts';
export type { ShownSetting } from '../core/model/shown-setting.ts';
export type { StatusReport, WebhookSummary } from '../core/model/status.ts';
export type { Upload } from '../core/model/upload.ts';
export type {
  DeliveryRecord,
  FailureMode,
  HeldDelivery,
  Webhook,
  WebhookEventType,
  WebhookFilter,
  WebhookStatus,
  WebhookTestResult,
} from '../core/model/webhook.ts';
export type * from './access-api.ts';
export type { Approval, ApprovalState, AuditAction, AuditEntry } from './access-types.ts';
export type * from './attachments-api.ts';
export type * from './content-types.ts';
export type { KeyRecord, KeyRevocation, KeyUse, Preset } from './key-types.ts';
export type * from './options.ts';
export type * from './overview-types.ts';
export type * from './people-api.ts';
export type { AmbiguousAddress, Contact, Person } from './people-types.ts';
export type { ScheduledSend, ScheduledState } from './scheduled-types.ts';
export type * from './search-results.ts';
export type { Highlight, SearchHit, SearchReport } from './search-types.ts';
