import type { Route } from '@reeve/contract'
import { messageOf } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { findJsonProblem } from '../json-problem.ts'
import { parseWholeJson } from '../json-text.ts'
import { draftProblems, type DraftRule } from './draft.ts'
import type { Validator } from './validate.ts'

/** Parses and validates a JSON:API document. */
export function decodeDocument(
  route: Route,
  validate: Validator,
  bytes: Buffer,
  { params, draftRule }: { readonly params: PathParams; readonly draftRule: DraftRule | undefined },
): Result<unknown, GovernanceRefusal> {
  const parsed = parseJson(bytes)
  if (!parsed.ok) return parsed
  const { value, problems } = validate(parsed.value)
  if (problems.length > 0)
    return err({ code: 'invalid', problems: draftProblems(value, problems, draftRule) })
  const mismatch = idMismatch(route, value, params)
  return mismatch === undefined ? ok(value) : err({ code: 'conflict', detail: mismatch })
}

type PathParams = Readonly<Record<string, string>>

/** An empty body is null: routes whose body is optional accept it, the others reject it. */
function parseJson(bytes: Buffer): Result<unknown, GovernanceRefusal> {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return ok(null)
  try {
    return ok(parseWholeJson(text))
  } catch (thrown) {
    const problem = thrown instanceof SyntaxError ? jsonProblem(text) : messageOf(thrown)
    return err({ code: 'malformed', detail: `The body is not JSON: ${problem}` })
  }
}

/** Names the byte at which the text is not JSON. */
function jsonProblem(text: string): string {
  const at = findJsonProblem(text)
  const byte = Buffer.byteLength(text.slice(0, at))
  if (at >= text.length) return `it ends too early, at byte ${byte}`
  return `${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))} cannot stand at byte ${byte}`
}

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
