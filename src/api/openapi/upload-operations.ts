import type { Operation } from './operation.ts';

/** Files sent from another machine. */
export const UPLOAD_OPERATIONS = {
  uploadAttachment: {
    tag: 'Messages',
    summary: 'Upload a file, to send it',
    description:
      'The bytes of the file with its name in `Content-Disposition`, or a form (`multipart/form-data`) with one file: at most 100 MB, within 10 minutes. ' +
      'The `id` goes into `attachment_ids` of `POST /messages`, with the same key. ' +
      'The file is kept until it is sent, at most 24 hours; all uploads together take at most 1 GB.',
    headers: [
      {
        name: 'Content-Disposition',
        in: 'header',
        description:
          'The name, as in `attachment; filename="photo.jpg"`; also `filename*=UTF-8\'\'…`. Not with a form.',
        schema: { type: 'string' },
      },
    ],
    answers: {
      201: {
        description: 'It can be sent now.',
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
      'no_room_for_upload',
    ],
    mistakes: [
      {
        pointer: 'Content-Disposition',
        message:
          'The name of the file is missing. Send it as in Content-Disposition: attachment; filename="photo.jpg".',
      },
    ],
  },
} as const satisfies Record<string, Operation>;
