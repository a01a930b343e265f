import type { FieldMapping } from '@reeve/native-policy'

/** Fields whose members are data of the user: their names stay as they are. */
const DATA_FIELDS: ReadonlySet<string> = new Set([
  'Meta',
  'Env',
  'Config',
  'Attributes',
  'Options',
  'Labels',
  'Params',
  'Sysctl',
  'Headers',
  'Header',
  'MetaOptional',
  'MetaRequired',
])

const AS_IS: FieldMapping = { nameOf: (field) => field, shapeOf: () => AS_IS }

/** A job as native policies see it: `task_groups`. */
export const JOB_SHAPE: FieldMapping = {
  nameOf: snakeCase,
  shapeOf: (field) => (DATA_FIELDS.has(field) ? AS_IS : JOB_SHAPE),
}

const known = new Map<string, string>()
const KNOWN_MAX = 5000

/**
 * Splits before a capital that follows a small letter or digit, and before the last capital of a
 * row that a small letter follows: `SizeMB` is `size_mb`, `AccessorID` is `accessor_id`.
 */
function snakeCase(field: string): string {
  const found = known.get(field)
  if (found !== undefined) return found
  const name = field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
  // The names of a job's fields are few; data of users is not converted.
  if (known.size < KNOWN_MAX) known.set(field, name)
  return name
}
