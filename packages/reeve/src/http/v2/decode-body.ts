import type { Route } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { validationErrors, type CrossFieldRule } from './draft.ts'
import type { Validated } from './validate.ts'

/** Returns the value of a validated document, or the refusal if it violates a rule of its route. */
export function checkDocument(
  route: Route,
  parsed: Result<Validated, GovernanceRefusal>,
  {
    params,
    draftRule,
  }: { readonly params: PathParams; readonly draftRule: CrossFieldRule | undefined },
): Result<unknown, GovernanceRefusal> {
  if (!parsed.ok) return parsed
  const { value, problems } = parsed.value
  if (problems.length > 0)
    return err({ code: 'invalid', problems: validationErrors(value, problems, draftRule) })
  const mismatch = idMismatch(route, value, params)
  return mismatch === undefined ? ok(value) : err({ code: 'conflict', detail: mismatch })
}

type PathParams = Readonly<Record<string, string>>

/** Returns the mismatch between the IDs of body and path. The ID in a body is optional. */
function idMismatch(route: Route, body: unknown, params: PathParams): string | undefined {
  if (route.methods[0] !== 'PATCH') return undefined
  const name = /\/:(\w+)$/.exec(route.path)?.[1]
  const data: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'data') : null
  const id: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'id') : null
  // The path with a workspace's name contains no ID to compare with.
  if (name === undefined || name === 'workspace_name' || typeof id !== 'string') return undefined
  return id === params[name]
    ? undefined
    : `The body names ${JSON.stringify(id)}, the path another one.`
}
