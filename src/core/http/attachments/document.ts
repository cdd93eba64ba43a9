import * as z from 'zod';
import type { Upload } from '../../model/upload.ts';
import { shapeOf } from '../../schema/shape.ts';
import { CHAT_DB, requestHeader } from '../openapi/operation.ts';
import type { ResourceDocument } from '../resource.ts';
import { attachmentQuery } from './schema.ts';

/** A file that a client uploaded in order to send it (decision R1). */
const uploadSchema = shapeOf<Upload>()(
  z
    .object({
      id: z.string().meta({ description: 'For `attachment_ids` of a send with the same key.' }),
      name: z.string().meta({ description: 'The name that the receiver sees: the uploaded name without folders.' }),
      mime_type: z.string(),
      bytes: z.int(),
      expires_at: z.iso
        .datetime({ precision: 0 })
        .meta({ description: 'When the file is removed, unless it is sent earlier.' }),
    })
    .meta({ id: 'Upload' }),
);

const TAG = { ETag: 'Changes with the file.' };

/** Files of messages, and files to send, in the documents of the API. */
export const DOCUMENT = {
  operations: {
    getAttachment: {
      tag: 'Messages',
      summary: 'The bytes of an attachment, counted from 0; supports ranges',
      description:
        'Streams the n-th file of `attachments`, counted from 0; one `Range` per request is supported. ' +
        '`as` converts a file that browsers do not show or play; the answer is 501 if this machine has no converter for it. ' +
        'For a file that is only in iCloud the answer is 404, and 409 with `as`: open the conversation in Messages to download it.',
      query: attachmentQuery,
      headers: [
        requestHeader('Range', 'One range of bytes, as in `bytes=0-1023`.'),
        requestHeader('If-Range', 'The `ETag` of the file that `Range` is about; another file is sent whole.'),
        requestHeader('If-None-Match', 'The `ETag` of a file that the client has.'),
      ],
      answers: {
        200: { description: 'The whole file, in its own type.', type: '*/*', headers: TAG },
        206: { description: 'The requested range.', type: '*/*', headers: TAG },
        304: { description: 'The file is the one of `If-None-Match`.', headers: TAG },
      },
      problems: [
        'attachment_not_found',
        'not_on_this_mac',
        'range_not_satisfiable',
        'conversion_unavailable',
        'conversion_busy',
        ...CHAT_DB,
      ],
      mistakes: [{ pointer: '?as', message: 'The parameter `as` must be "jpeg" or "m4a".' }],
    },
    uploadAttachment: {
      tag: 'Messages',
      summary: 'Upload a file to send',
      description:
        'Takes the bytes of a file, with its name in `Content-Disposition`, or a form (`multipart/form-data`) with one file: at most 100 MB, within 10 minutes. ' +
        'The `id` goes into `attachment_ids` of `POST /messages`, with the same key. ' +
        'The file is kept until it is sent, at most 24 hours; all uploads together take at most 1 GB.',
      headers: [
        requestHeader(
          'Content-Disposition',
          'The name, as in `attachment; filename="photo.jpg"`; also `filename*=UTF-8\'\'…`. ' +
            'Leave this header out with a form.',
        ),
      ],
      answers: {
        201: {
          description: 'The upload, which can be sent now.',
          schema: 'Upload',
          example: {
            id: '3f2a6c1e-0d5b-4f7a-9c8e-2b1d4a6f8e01',
            name: 'photo.jpg',
            mime_type: 'image/jpeg',
            bytes: 2_400_000,
            expires_at: '2026-02-01T09:30:00Z',
          },
        },
      },
      files: {
        '*/*': { type: 'string', format: 'binary' },
        'multipart/form-data': {
          type: 'object',
          properties: { file: { type: 'string', format: 'binary' } },
          required: ['file'],
        },
      },
      problems: [
        'incomplete_body',
        'invalid_form',
        'request_timeout',
        'upload_too_large',
        'form_too_large',
        'upload_encoded',
        'too_many_uploads',
        'shutting_down',
        'storage_full',
      ],
      mistakes: [
        {
          pointer: 'Content-Disposition',
          message:
            'The name of the file is missing. Send it in a header: `Content-Disposition: attachment; filename="photo.jpg"`.',
        },
      ],
    },
  },
  schemas: {
    Upload: uploadSchema,
  },
} as const satisfies ResourceDocument;
