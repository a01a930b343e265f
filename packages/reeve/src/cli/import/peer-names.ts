import { aliasesOf } from '../../compat/index.ts'
import type { Fields } from './import-plan.ts'

/** Names that another product uses, each with ours. */
export interface PeerNames {
  /** Response headers, from ours to theirs, in lower case. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Fields of jobs. */
  readonly fields: Readonly<Record<string, string>>
  /** Values of fields, by our name of the field. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** First segments of variable paths. */
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Fields with user-defined names, which are not translated. */
const USER_DEFINED_FIELDS: ReadonlySet<string> = new Set([
  'Config',
  'Env',
  'Meta',
  'Options',
  'Args',
])

/** Translates the field names in a value. User-defined names are kept. */
function translateValue(names: Pick<PeerNames, 'fields' | 'values'>, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => translateValue(names, item))
  if (typeof value !== 'object' || value === null) return value
  return translateFields(names, value)
}

/** Translates the field names of a record. */
export function translateFields(
  names: Pick<PeerNames, 'fields' | 'values'>,
  record: object,
): Fields {
  const entries = Object.entries(record).map(([theirs, value]: [string, unknown]) => {
    const ours = names.fields[theirs] ?? theirs
    if (USER_DEFINED_FIELDS.has(ours)) return [ours, value] as const
    const word = typeof value === 'string' ? names.values[ours]?.[value] : undefined
    return [ours, word ?? translateValue(names, value)] as const
  })
  return Object.fromEntries(entries)
}

/** Translates the first segment of a variable path. */
export function translatePath({ variableDirectories }: PeerNames, path: string): string {
  const [first = '', ...rest] = path.split('/')
  return [variableDirectories[first] ?? first, ...rest].join('/')
}

const { http, governance } = aliasesOf(true)

/** Names of the products that can be imported. Reeve installations use ours. */
export const PEER_NAMES: PeerNames = http

export const GOVERNANCE_NAMES: Pick<PeerNames, 'fields' | 'values'> = {
  fields: governance.members,
  values: governance.values,
}
