import { chatIdentifier } from '../../core/model/address.ts';
import type { Conversation } from '../../core/model/conversation.ts';
import type { AttachmentDetails } from '../../core/model/details.ts';
import { utiOf } from '../../core/model/media-types.ts';
import type { Message } from '../../core/model/message.ts';
import type { ConvertedForm } from '../../core/model/ports/reading-ports.ts';

/** Values of a chat's `style`, the same in the protocol and in chat.db. */
const GROUP = 43;
const ONE_TO_ONE = 45;

const HEIC = /^image\/hei[cf]/i;
const VOICE = /^audio\/(?:x-)?(?:caf|amr)/i;

/**
 * Returns the format to which a file must be converted for clients of BlueBubbles. They cannot show HEIC, and cannot
 * play CAF or AMR. Returns undefined for a file that these clients can use unchanged.
 */
export function givenForm({ mime_type: type, name }: AttachmentDetails): ConvertedForm | undefined {
  if (HEIC.test(type ?? '') || /\.hei[cf]$/i.test(name)) return { as: 'jpeg', max: undefined };
  return VOICE.test(type ?? '') || /\.(?:caf|amr)$/i.test(name) ? { as: 'm4a' } : undefined;
}

/**
 * Returns an attachment's id in the protocol. It contains the message's id, and the attachment's index in the message,
 * from 0.
 */
function attachmentGuid(messageId: string, n: number): string {
  return `at_${n}_${messageId}`;
}

/** Parses an id made by `attachmentGuid`. Returns undefined for any other text. */
export function attachmentKey(guid: string): { readonly id: string; readonly n: number } | undefined {
  const [, n = '', id = ''] = /^at_(\d{1,4})_(\d{1,16})$/.exec(guid) ?? [];
  return id === '' ? undefined : { id, n: Number(n) };
}

function attachmentObject({ id, is_from_me: isOutgoing }: Message, attachment: AttachmentDetails, index: number) {
  const { n = index, name, mime_type: type, bytes } = attachment;
  const form = givenForm(attachment);
  const stem = name.replace(/\.[^.]*$/, '');
  const given =
    form === undefined
      ? { uti: utiOf(type), mimeType: type, transferName: name }
      : form.as === 'jpeg'
        ? { uti: 'public.jpeg', mimeType: 'image/jpeg', transferName: `${stem}.jpg` }
        : { uti: 'com.apple.m4a-audio', mimeType: 'audio/mp4', transferName: `${stem}.m4a` };
  return { guid: attachmentGuid(id, n), ...given, totalBytes: bytes, isOutgoing, hideAttachment: false };
}

export function chatObject({ id, display_name: name, participants, details }: Conversation) {
  const service = details?.service ?? serviceOf(id);
  return {
    originalROWID: details?.chat_number ?? null,
    guid: id,
    style: id.includes(';+;') ? GROUP : ONE_TO_ONE,
    chatIdentifier: chatIdentifier(id),
    isArchived: false,
    displayName: name ?? '',
    participants: participants.map((address) => handleObject(address, service)),
  };
}

/** Returns a message with every field of the protocol. Fields that Postern does not know are null. */
export function messageObject(message: Message, chat: Conversation, tempGuid: string | null = null) {
  const { details, is_from_me: isFromMe, guid } = message;
  const attachments = (details?.attachments ?? []).map((one, index) => attachmentObject(message, one, index));
  const service = details?.service ?? serviceOf(chat.id);
  return {
    originalROWID: message.id === '' ? null : Number(message.id),
    // A sent message without a row in chat.db has no GUID yet. The client chose `tempGuid` as the message's id, so
    // `tempGuid` takes the place of the GUID.
    guid: guid === '' ? tempGuid : guid,
    tempGuid,
    text: message.body,
    subject: details?.subject ?? null,
    dateCreated: Date.parse(message.timestamp),
    dateRead: instant(details?.read_at),
    dateDelivered: instant(details?.delivered_at),
    isFromMe,
    hasAttachments: attachments.length + message.attachments.length > 0,
    attachments,
    handle: isFromMe ? null : handleObject(message.sender, service),
    handleId: null,
    chats: [chatObject(chat)],
    associatedMessageGuid: null,
    associatedMessageType: null,
    threadOriginatorGuid: details?.reply_to_guid ?? null,
    itemType: 0,
    groupActionType: 0,
    groupTitle: null,
    error: details?.error ?? 0,
  };
}

function handleObject(address: string, service: string | null) {
  return { address, service, country: null, uncanonicalizedId: null };
}

function serviceOf(id: string): string | null {
  const [service = ''] = id.split(';', 1);
  return service === 'any' || service === '' ? null : service;
}

function instant(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Date.parse(text);
}
