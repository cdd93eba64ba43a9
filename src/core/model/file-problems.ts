import type { ProblemText } from './problem-text.ts';

/** Problems of files: of uploads (decision R1), and of converted attachments. */
export const FILE_PROBLEMS = {
  invalid_form: {
    status: 400,
    detail: 'The form is not valid multipart/form-data.',
    hint: 'It must have a boundary, and end with it.',
  },
  upload_not_found: {
    status: 404,
    detail: 'There is no upload with this id.',
    pointer: '/attachment_ids/0',
    hint: 'Only the key that uploaded a file can send it, once and within 24 hours. Upload the file again.',
  },
  upload_too_large: { status: 413, detail: 'A file must not be larger than 100 MB.' },
  form_too_large: { status: 413, detail: 'A form must not have more than 10 files or more than 40 fields.' },
  upload_encoded: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'An upload must not be compressed.',
    hint: 'Send it without Content-Encoding.',
  },
  too_many_uploads: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'This key already has {max} uploads in progress.',
    hint: 'Wait until one of them is complete.',
    example: { max: 10 },
  },
  storage_full: {
    status: 507,
    mayHaveBeenSent: false,
    detail: 'There is no room for more files.',
    hint: 'Nothing was sent. Uploads and the files of waiting messages may total 1 GB, and uploads 1,000 files (limited keys: half). Unsent uploads are deleted after 24 hours. If the disk is full, make room on it.',
  },
  not_on_this_mac: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'The file is only in iCloud.',
    hint: 'Open the conversation in Messages on this Mac to download the file, then try again.',
  },
  conversion_unavailable: {
    status: 501,
    mayHaveBeenSent: false,
    detail: 'This file cannot be converted here.',
    hint: 'Only pictures (to jpeg) and recordings (to m4a) are converted, if the converter is installed. Ask for the original file instead.',
  },
  conversion_busy: {
    status: 503,
    mayHaveBeenSent: false,
    detail: 'Too many files are waiting to be converted.',
    hint: 'Try again in a few seconds.',
  },
} as const satisfies Readonly<Record<string, ProblemText>>;
