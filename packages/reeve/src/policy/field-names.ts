import type { FieldMapping } from '@reeve/native-policy'

/** Fields whose members are named by users: these names are not converted. */
const USER_DATA_FIELDS: ReadonlySet<string> = new Set([
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

const UNCHANGED: FieldMapping = { nameOf: (field) => field, shapeOf: () => UNCHANGED }

/** Field names of jobs in native policies: snake case, such as `task_groups`. */
export const JOB_FIELDS: FieldMapping = {
  nameOf: snakeCase,
  shapeOf: (field) => (USER_DATA_FIELDS.has(field) ? UNCHANGED : JOB_FIELDS),
}

const snakeCaseCache = new Map<string, string>()
const CACHED_NAMES_MAX = 5000

/** Converts a field name to snake case: `SizeMB` to `size_mb`, `AccessorID` to `accessor_id`. */
function snakeCase(field: string): string {
  const cached = snakeCaseCache.get(field)
  if (cached !== undefined) return cached
  const name = field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
  // Jobs have few field names, and names in user data are not converted, so the cache stays small.
  if (snakeCaseCache.size < CACHED_NAMES_MAX) snakeCaseCache.set(field, name)
  return name
}
