import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { findJsonErrorPosition } from '../json-problem.ts'
import { parseJsonStrict } from '../json-text.ts'
import { canonicalMembers, type MemberNames } from './member-aliases.ts'
import type { Validated, Validator } from './validate.ts'

const NO_MEMBER_ALIASES: MemberNames = { members: {}, nested: [], values: {}, policyKinds: {} }

/** Parses a JSON:API document and validates it by the schema of its route. */
export function readDocument(
  validate: Validator,
  bytes: Buffer,
  aliases: MemberNames = NO_MEMBER_ALIASES,
): Result<Validated, GovernanceRefusal> {
  const parsed = parseJson(bytes)
  return parsed.ok ? ok(validate(canonicalMembers(parsed.value, aliases))) : parsed
}

/** An empty body is null: routes whose body is optional accept it, the others reject it. */
function parseJson(bytes: Buffer): Result<unknown, GovernanceRefusal> {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return ok(null)
  try {
    return ok(parseJsonStrict(text))
  } catch (thrown) {
    const problem = thrown instanceof SyntaxError ? describeJsonError(text) : errorMessage(thrown)
    return err({ code: 'malformed', detail: `The body is not JSON: ${problem}` })
  }
}

/** Names the byte at which the text is not JSON. */
function describeJsonError(text: string): string {
  const position = findJsonErrorPosition(text)
  const byte = Buffer.byteLength(text.slice(0, position))
  if (position >= text.length) return `it ends too early, at byte ${byte}`
  return `${JSON.stringify(String.fromCodePoint(text.codePointAt(position) ?? 0))} cannot stand at byte ${byte}`
}
