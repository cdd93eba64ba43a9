import * as z from 'zod';
import type { Upload } from '../../model/upload.ts';
import { shapeOf } from '../../schema/shape.ts';

/** A file that a client uploaded in order to send it (decision R1). */
export const uploadSchema = shapeOf<Upload>()(
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
