import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { findJsonProblem } from '../json-problem.ts'
import { parseWholeJson } from '../json-text.ts'
import { knownMembers, type MemberNames } from './member-aliases.ts'
import type { Validated, Validator } from './validate.ts'

const NO_NAMES: MemberNames = { members: {}, nested: [], values: {}, policyKinds: {} }

/** Parses a JSON:API document and validates it by the schema of its route. */
export function readDocument(
  validate: Validator,
  bytes: Buffer,
  aliases: MemberNames = NO_NAMES,
): Result<Validated, GovernanceRefusal> {
  const parsed = parseJson(bytes)
  return parsed.ok ? ok(validate(knownMembers(parsed.value, aliases))) : parsed
}

/** An empty body is null: routes whose body is optional accept it, the others reject it. */
function parseJson(bytes: Buffer): Result<unknown, GovernanceRefusal> {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return ok(null)
  try {
    return ok(parseWholeJson(text))
  } catch (thrown) {
    const problem = thrown instanceof SyntaxError ? jsonProblem(text) : errorMessage(thrown)
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
