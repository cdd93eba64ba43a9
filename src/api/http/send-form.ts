/** Members of a send that a form may repeat. */
const LISTS: ReadonlySet<string> = new Set(['attachments', 'attachment_ids']);

/**
 * Converts the fields of a form to the JSON body of the same send. `uploadIds` are those of its files, which come
 * first.
 */
export function bodyOfForm(fields: readonly (readonly [string, string])[], uploadIds: readonly string[]): unknown {
  // Without a prototype, because the names come from the client.
  const body = Object.create(null) as Record<string, unknown>;
  body.body = '';
  for (const [name, value] of fields) {
    const given = fields.filter(([other]) => other === name).map(([, one]) => one);
    if (LISTS.has(name)) body[name] = given;
    // A repeated field is no string, which is a mistake.
    else body[name] = given.length > 1 ? given : plain(name, value);
  }
  const ids = [...uploadIds, ...((body.attachment_ids as readonly string[] | undefined) ?? [])];
  return { ...body, ...(ids.length > 0 && { attachment_ids: ids }) };
}

function plain(name: string, value: string): unknown {
  return name === 'dry_run' && (value === 'true' || value === 'false') ? value === 'true' : value;
}
