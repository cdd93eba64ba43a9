// All types of the client's answers and options.
export type { Approval, ApprovalState } from '../domain/approval.ts';
export type { AuditAction, AuditEntry } from '../domain/audit.ts';
export type { ClientLines } from '../domain/client-lines.ts';
export type { Conversation } from '../domain/conversation.ts';
export type { AttachmentDetails, MessageDetails, MessageKind, Origin, TransferState } from '../domain/details.ts';
export type { ChangeEvent, ChangeName, Event, EventType } from '../domain/event.ts';
export type { Include } from '../domain/include.ts';
export type { KeyRecord, KeyRevocation, Preset, Scope } from '../domain/key.ts';
export type { ListedAttachment } from '../domain/listed-attachment.ts';
export type { Message, MessageStatus } from '../domain/message.ts';
export type { HostReport, KeyOverview, Overview, ShownSetting, WebhookOverview } from '../domain/overview.ts';
export type { Contact } from '../domain/ports/contacts-ports.ts';
export type { AmbiguousAddress, Person } from '../domain/ports/people-ports.ts';
export type { Reaction, ReactionType } from '../domain/reaction.ts';
export type { Highlight, SearchHit } from '../domain/search.ts';
export type {
  KeyUse,
  StatisticKind,
  StatisticPoint,
  StatisticSeries,
  StatisticSpan,
  SubjectSeries,
} from '../domain/statistics.ts';
export type { StatusReport, WebhookSummary } from '../domain/status.ts';
export type { Upload } from '../domain/upload.ts';
export type {
  DeliveryRecord,
  FailureMode,
  HeldDelivery,
  Webhook,
  WebhookEventType,
  WebhookFilter,
  WebhookStatus,
  WebhookTestResult,
} from '../domain/webhook.ts';
export type * from './access-api.ts';
export type * from './attachments-api.ts';
export type * from './options.ts';
export type * from './people-api.ts';
export type { ScheduledSend, ScheduledState } from './scheduled-types.ts';
export type * from './search-results.ts';
