import * as z from 'zod';
import type { Upload } from '../domain/upload.ts';
import { shapeOf } from './shape.ts';

/** A file that a client uploaded in order to send it (decision R1). */
export const uploadSchema = shapeOf<Upload>()(
  z
    .object({
      id: z.string().meta({ description: 'For `attachment_ids` of a send with the same key.' }),
      name: z.string().meta({ description: 'What the receiver sees: the name that was given, without folders.' }),
      mime_type: z.string(),
      bytes: z.int(),
      expires_at: z.iso.datetime({ precision: 0 }).meta({ description: 'It is removed then, or once it was sent.' }),
    })
    .meta({ id: 'Upload' }),
);
