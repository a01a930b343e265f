import type { Route } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { draftProblems, type DraftRule } from './draft.ts'
import type { Validated } from './validate.ts'

/** The value of a document that was parsed and validated, unless it breaks a rule of its route. */
export function checkDocument(
  route: Route,
  read: Result<Validated, GovernanceRefusal>,
  { params, draftRule }: { readonly params: PathParams; readonly draftRule: DraftRule | undefined },
): Result<unknown, GovernanceRefusal> {
  if (!read.ok) return read
  const { value, problems } = read.value
  if (problems.length > 0)
    return err({ code: 'invalid', problems: draftProblems(value, problems, draftRule) })
  const mismatch = idMismatch(route, value, params)
  return mismatch === undefined ? ok(value) : err({ code: 'conflict', detail: mismatch })
}

type PathParams = Readonly<Record<string, string>>

/** The id in a body is optional; one that is not the id of the path is a conflict. */
function idMismatch(route: Route, body: unknown, params: PathParams): string | undefined {
  if (route.methods[0] !== 'PATCH') return undefined
  const name = /\/:(\w+)$/.exec(route.path)?.[1]
  const data: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'data') : null
  const id: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'id') : null
  // A workspace's path by name holds no id to compare with.
  if (name === undefined || name === 'workspace_name' || typeof id !== 'string') return undefined
  return id === params[name]
    ? undefined
    : `The body names ${JSON.stringify(id)}, the path another one.`
}
