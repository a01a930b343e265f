import { aliasesOf } from '../../compat/index.ts'
import type { Fields } from './import-plan.ts'

/** Names of another product's installation, each with ours. */
export interface PeerNames {
  /** Response headers, from ours to theirs, in lower case. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Fields of jobs. */
  readonly fields: Readonly<Record<string, string>>
  /** Values, by our name of their field. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** First parts of the paths of variables. */
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Below these, names are the user's own. */
const FREE_FIELDS: ReadonlySet<string> = new Set(['Config', 'Env', 'Meta', 'Options', 'Args'])

/** A value with our names in place of theirs. What users have named stays as it is. */
function inOurNames(names: Pick<PeerNames, 'fields' | 'values'>, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inOurNames(names, item))
  if (typeof value !== 'object' || value === null) return value
  return fieldsInOurNames(names, value)
}

/** The same for a record. */
export function fieldsInOurNames(
  names: Pick<PeerNames, 'fields' | 'values'>,
  record: object,
): Fields {
  const entries = Object.entries(record).map(([theirs, value]: [string, unknown]) => {
    const ours = names.fields[theirs] ?? theirs
    if (FREE_FIELDS.has(ours)) return [ours, value] as const
    const word = typeof value === 'string' ? names.values[ours]?.[value] : undefined
    return [ours, word ?? inOurNames(names, value)] as const
  })
  return Object.fromEntries(entries)
}

/** The path of a variable, below our name of its directory. */
export function pathInOurNames({ variableDirectories }: PeerNames, path: string): string {
  const [first = '', ...rest] = path.split('/')
  return [variableDirectories[first] ?? first, ...rest].join('/')
}

const { http, governance } = aliasesOf(true)

/** Of the products that installations are imported from. Reeve's own installations use ours. */
export const PEER_NAMES: PeerNames = http

export const GOVERNANCE_NAMES: Pick<PeerNames, 'fields' | 'values'> = {
  fields: governance.members,
  values: governance.values,
}
